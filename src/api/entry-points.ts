// Entry points: `/` shows browsers the pages, `/api/2/` redirects them to the documentation; both
// tell programs where the interface is. They need no key.
import type { FastifyInstance } from "fastify";
import { acceptsHtml, PAGE_PATHS } from "./pages.ts";
import type { SendPage } from "./pages.ts";
import { API_PREFIX } from "./serve-endpoint.ts";

export const DOCUMENTATION = "/docs";
export const OPENAPI = `${API_PREFIX}/openapi.json`;
const HOME = "/";

/** Paths that need no key; each takes GET only. */
export const OPEN_PATHS = [HOME, `${API_PREFIX}/`, OPENAPI, DOCUMENTATION, ...PAGE_PATHS];

/** With a public URL, the answer has absolute URLs: a proxy may add its own path. */
export function serveEntryPoints(
  app: FastifyInstance,
  {
    version,
    publicUrl = "",
  }: { readonly version: string; readonly publicUrl?: string | undefined },
  sendPage: SendPage,
): void {
  const docs = `${publicUrl}${DOCUMENTATION}`;
  const start = JSON.stringify({
    name: "Sonde",
    version,
    api: `${publicUrl}${API_PREFIX}/`,
    openapi: `${publicUrl}${OPENAPI}`,
    docs,
  });
  const route = (path: string, toBrowser: SendPage) =>
    app.get(path, async (request, reply) => {
      reply.header("vary", "accept");
      if (acceptsHtml(request.headers)) return toBrowser(request, reply);
      return reply.type("application/json; charset=utf-8").send(start);
    });
  route(HOME, sendPage);
  route(`${API_PREFIX}/`, (_request, reply) => reply.redirect(docs));
}
