// Where to start: `/` and `/api/2/` lead a browser to the documentation, and tell a program where
// the interface is. They need no key.
import type { FastifyInstance } from "fastify";
import { API_PREFIX } from "./http/serve-endpoint.ts";

export const DOCUMENTATION = "/docs";
export const OPENAPI = `${API_PREFIX}/openapi.json`;
const PATHS = ["/", `${API_PREFIX}/`] as const;

/** Paths that need no key; each takes GET only. */
export const OPEN_PATHS = [...PATHS, OPENAPI];

export function serveStart(app: FastifyInstance, version: string): void {
  const start = {
    name: "Sonde",
    version,
    api: `${API_PREFIX}/`,
    openapi: OPENAPI,
    docs: DOCUMENTATION,
  };
  for (const path of PATHS)
    app.get(path, async ({ headers }, reply) => {
      reply.header("vary", "accept");
      if (/\btext\/html\b/i.test(headers.accept ?? "")) return reply.redirect(DOCUMENTATION);
      return reply.type("application/json; charset=utf-8").send(JSON.stringify(start));
    });
}
