// Closes idle connections while the server closes, which would wait for them: those that were never
// used, which browsers open speculatively, and those kept alive after an answer under way.
import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";

const SWEEP_MS = 20;
/** How long slow callers may read the rest of their answers. */
const REST_MS = 5000;

export function endIdle(app: FastifyInstance): void {
  const { server } = app;
  const open = new Set<Socket>();
  server.on("connection", (socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  let left = REST_MS / SWEEP_MS;
  // To Node, whose `close` calls this too, a connection is idle even while the caller has yet to
  // read most of its last answer.
  const closeIdle = server.closeIdleConnections.bind(server);
  server.closeIdleConnections = () => {
    if (left <= 0 || ![...open].some(({ writableLength }) => writableLength > 0)) closeIdle();
  };
  app.addHook("preClose", async () => {
    for (const socket of open) if (socket.bytesRead === 0) socket.destroy();
    const sweep = setInterval(() => {
      left -= 1;
      server.closeIdleConnections();
      if (open.size === 0) clearInterval(sweep);
    }, SWEEP_MS);
  });
}
