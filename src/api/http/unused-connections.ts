// Closes unused connections, which browsers open speculatively: a closing server would wait for
// their first requests.
import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";

/** Destroys connections that have sent nothing when the server closes. */
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
