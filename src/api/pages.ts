// Serves the web pages: the files that `npm run build` makes in web/dist.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import fastifyStatic from "@fastify/static";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { notFound } from "../model/errors.ts";
import { installed } from "../runtime/installation.ts";
import { entityTag, isNamed, sendNotModified } from "./serve-endpoint.ts";

const DIST = installed("web/dist/");

/** The first segment of the path of each page; the pages themselves route what follows. */
export const PAGES = [
  "sign-in",
  "calls",
  "results",
  "workflows",
  "workflow-results",
  "insights",
  "reports",
  "locations",
  "settings",
  "tokens",
  "environment",
  "keys",
  "audit",
] as const;

const ASSETS = "/assets/";

const PATHS = PAGES.flatMap((page) => [`/${page}`, `/${page}/*`]);

/** Paths that need no key. */
export const PAGE_PATHS: readonly string[] = [...PATHS, `${ASSETS}*`];

/** Allows our own files and nothing else; charts and tables set their styles through the DOM. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "manifest-src 'self'",
  "form-action 'self'",
  "base-uri 'self'",
  "frame-ancestors 'none'",
].join("; ");

const PAGE_HEADERS = {
  "cache-control": "no-cache",
  "content-security-policy": CONTENT_SECURITY_POLICY,
  "cross-origin-opener-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
} as const;

const NOT_BUILT =
  "The web pages are not built. Run `npm ci` with the development packages, or `npm run build`, then start Sonde again.\n";

/** Sends the HTML document that all pages share. */
export type SendPage = (request: FastifyRequest, reply: FastifyReply) => FastifyReply;

export interface ServedPages {
  readonly send: SendPage;
  /** Sends it with 404 where there is no page; undefined if the pages are not built. */
  readonly sendMissing: SendPage | undefined;
}

/** Whether a browser is requesting a page. */
export const isForPage = ({ method, url, headers }: FastifyRequest): boolean =>
  (method === "GET" || method === "HEAD") &&
  acceptsHtml(headers) &&
  ![ASSETS, "/api/"].some((others) => url.startsWith(others));

export const acceptsHtml = ({ accept = "" }: IncomingHttpHeaders): boolean =>
  /\btext\/html\b/i.test(accept);

export interface PagesConfig {
  /** The service's URL in browsers, perhaps with a path. */
  readonly publicUrl?: string | undefined;
  /** The folder of the pages, ending in a slash; by default where `npm run build` puts them. */
  readonly pagesFolder?: string;
}

export function servePages(
  app: FastifyInstance,
  { publicUrl, pagesFolder = DIST }: PagesConfig,
): ServedPages {
  const index = `${pagesFolder}index.html`;
  const isBuilt = existsSync(index);
  const html = isBuilt ? withBase(readFileSync(index, "utf8"), publicUrl) : NOT_BUILT;
  const etag = entityTag(html);
  const send: SendPage = ({ headers }, reply) => {
    reply.headers({ ...PAGE_HEADERS, etag });
    if (isNamed(etag, headers["if-none-match"])) return sendNotModified(reply);
    return isBuilt
      ? reply.type("text/html; charset=utf-8").send(html)
      : reply.code(503).type("text/plain; charset=utf-8").send(html);
  };
  const sendMissing: SendPage = (_request, reply) =>
    reply
      .code(404)
      .headers({ ...PAGE_HEADERS, "cache-control": "no-store", vary: "accept" })
      .type("text/html; charset=utf-8")
      .send(html);
  for (const path of PATHS) app.get(path, async (request, reply) => send(request, reply));
  if (isBuilt) serveAssets(app, `${pagesFolder}assets`);
  return { send, sendMissing: isBuilt ? sendMissing : undefined };
}

function serveAssets(app: FastifyInstance, folder: string): void {
  void app.register(fastifyStatic, {
    root: folder,
    // One route, not one for each file of several builds.
    serve: false,
    preCompressed: true,
    cacheControl: false,
    // Their names change with their contents.
    setHeaders: (reply) => {
      reply.header("cache-control", "public, max-age=31536000, immutable");
    },
  });
  const files = new Set(readdirSync(folder));
  app.get<{ Params: { file: string } }>(`${ASSETS}:file`, async ({ params: { file } }, reply) => {
    if (!files.has(file)) throw notFound("Path");
    return reply.sendFile(file);
  });
}

/** Sets the base of relative links. */
function withBase(html: string, publicUrl: string | undefined): string {
  const path = publicUrl === undefined ? "/" : new URL(`${publicUrl}/`).pathname;
  const href = path.replaceAll("&", "&amp;"); // a URL has no quotes
  return html.replace('<base href="/" />', () => `<base href="${href}" />`);
}
