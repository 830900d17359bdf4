// The documentation of the API: the OpenAPI document and the page that shows it, on their own
// Fastify instance.
import { gzipSync } from "node:zlib";
import fastify from "fastify";
import type { FastifyReply, FastifyRequest } from "fastify";
import swagger from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import { notFound } from "../../model/errors.ts";
import { routesOf } from "../endpoint.ts";
import type { Endpoint } from "../endpoint.ts";
import { toErrorAnswer } from "../http/errors.ts";
import { API_PREFIX, entityTag, isNamed, sendNotModified } from "../serve-endpoint.ts";
import { describe, openApiOptions, sharedSchemas } from "./openapi.ts";
import type { Described } from "./openapi.ts";

const CONTENT_SECURITY_POLICY =
  "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'";
const STYLE = ".swagger-ui .topbar { display: none }";

export type Documentation = Awaited<ReturnType<typeof createDocumentation>>;

/** `pages.routing` serves `/docs`. */
export async function createDocumentation(endpoints: readonly Endpoint[], config: Described) {
  const app = fastify({ routerOptions: { ignoreTrailingSlash: true } });
  app.addHook("onRequest", (_, reply, done) => {
    reply.header("x-content-type-options", "nosniff");
    reply.header("content-security-policy", CONTENT_SECURITY_POLICY);
    done();
  });
  app.setNotFoundHandler((_, reply) => sendError(notFound("Path"), reply));
  app.setErrorHandler((error, _, reply) => sendError(error, reply));
  // The schemas only describe: they neither validate nor serialize.
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => JSON.stringify);
  for (const schema of sharedSchemas(endpoints)) app.addSchema(schema);
  void app.register(swagger, openApiOptions(config, endpoints));
  void app.register(swaggerUi, {
    routePrefix: "/docs",
    indexPrefix: pathOf(config.publicUrl),
    theme: { title: "Sonde API", css: [{ filename: "sonde.css", content: STYLE }] },
    staticCSP: CONTENT_SECURITY_POLICY,
  });
  void app.register(async (described) => {
    for (const endpoint of endpoints)
      for (const { method, path } of routesOf(endpoint))
        described.route({
          method,
          url: `${API_PREFIX}${path}`,
          schema: describe(endpoint, method, path),
          handler: () => undefined,
        });
  });
  await app.ready();
  return { pages: app, sendDocument: documentSender(app.swagger()) };
}

function sendError(error: unknown, reply: FastifyReply): void {
  const { status, headers, body } = toErrorAnswer(error);
  void reply.code(status).headers(headers).send(body);
}

/** Returns the path below which a proxy serves the pages; "" by default. */
const pathOf = (publicUrl: string | undefined): string =>
  publicUrl === undefined ? "" : new URL(publicUrl).pathname.replace(/\/$/, "");

/** Renders the document once: it needs no key, so anyone may request it any number of times. */
function documentSender(document: object) {
  const [compact, indented] = [0, 2].map((spaces) =>
    rendered(JSON.stringify(document, null, spaces)),
  );
  return (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const { debug } = request.query as { readonly debug?: unknown };
    const { text, gzipped, etag } = (debug === "1" ? indented : compact) as Rendered;
    const { "if-none-match": known, "accept-encoding": encodings } = request.headers;
    reply.headers({ "cache-control": "no-cache", etag, vary: "accept-encoding" });
    if (isNamed(etag, known)) return sendNotModified(reply);
    reply.type("application/json; charset=utf-8");
    if (!/\bgzip\b(?!;q=0)/.test(String(encodings))) return reply.send(text);
    return reply.header("content-encoding", "gzip").send(gzipped);
  };
}

type Rendered = ReturnType<typeof rendered>;

/** As bytes, encoded once. */
function rendered(json: string) {
  const text = Buffer.from(json);
  return {
    text,
    gzipped: gzipSync(text),
    etag: `W/${entityTag(json)}`,
  };
}
