// Closes idle connections while the server closes, which would wait for them: those that were never
// used, which browsers open speculatively, and those kept alive after an answer under way.
import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";

const SWEEP_MS = 20;

export function endIdle(app: FastifyInstance): void {
  const { server } = app;
  const open = new Set<Socket>();
  server.on("connection", (socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  app.addHook("preClose", async () => {
    for (const socket of open) if (socket.bytesRead === 0) socket.destroy();
    const sweep = setInterval(() => {
      // To Node, a connection is idle even while its last answer waits for the caller to read on.
      if (![...open].some(({ writableLength }) => writableLength > 0))
        server.closeIdleConnections();
      if (open.size === 0) clearInterval(sweep);
    }, SWEEP_MS);
  });
}
