// Where to start: `/` and `/api/2/` lead a browser to the documentation, and tell a program where
// the interface is. They need no key.
import type { FastifyInstance } from "fastify";
import { API_PREFIX } from "./http/serve-endpoint.ts";

export const DOCUMENTATION = "/docs";
export const OPENAPI = `${API_PREFIX}/openapi.json`;
const PATHS = ["/", `${API_PREFIX}/`] as const;

/** Paths that need no key; each takes GET only. */
export const OPEN_PATHS = [...PATHS, OPENAPI];

/** With a public URL, the answer has whole addresses: a proxy may have a path of its own. */
export function serveStart(
  app: FastifyInstance,
  {
    version,
    publicUrl = "",
  }: { readonly version: string; readonly publicUrl?: string | undefined },
): void {
  const docs = `${publicUrl}${DOCUMENTATION}`;
  const start = {
    name: "Sonde",
    version,
    api: `${publicUrl}${API_PREFIX}/`,
    openapi: `${publicUrl}${OPENAPI}`,
    docs,
  };
  for (const path of PATHS)
    app.get(path, async ({ headers }, reply) => {
      reply.header("vary", "accept");
      if (/\btext\/html\b/i.test(headers.accept ?? "")) return reply.redirect(docs);
      return reply.type("application/json; charset=utf-8").send(JSON.stringify(start));
    });
}
