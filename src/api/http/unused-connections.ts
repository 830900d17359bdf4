// Connections that nothing was asked on, as browsers open them ahead: a server that closes would
// wait for their first requests.
import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";

/** Ends them when the server closes. */
export function endUnused(app: FastifyInstance): void {
  const open = new Set<Socket>();
  app.server.on("connection", (socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  app.addHook("preClose", async () => {
    for (const socket of open) if (socket.bytesRead === 0) socket.destroy();
  });
}
