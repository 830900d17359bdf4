// The documentation of the API: the OpenAPI document and the page that shows it, on a fastify of
// their own.
import fastify from "fastify";
import type { FastifyInstance } from "fastify";
import swagger from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import type { Endpoint } from "../http/endpoint.ts";
import { API_PREFIX } from "../http/serve-endpoint.ts";
import { describe, openApiOptions, sharedSchemas } from "./openapi.ts";

const STYLE = ".swagger-ui .topbar { display: none }";

/** Serves `/docs` by `routing`; `swagger()` is the document. */
export async function createDocumentation(
  endpoints: readonly Endpoint[],
  config: { readonly version: string; readonly tokenInQuery: boolean },
): Promise<FastifyInstance> {
  const app = fastify({ routerOptions: { ignoreTrailingSlash: true } });
  // The schemas describe, and nothing else.
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => JSON.stringify);
  for (const schema of sharedSchemas(endpoints)) app.addSchema(schema);
  void app.register(swagger, openApiOptions(config, endpoints));
  void app.register(swaggerUi, {
    routePrefix: "/docs",
    theme: { title: "Sonde API", css: [{ filename: "sonde.css", content: STYLE }] },
    staticCSP: "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'",
  });
  void app.register(async (described) => {
    for (const endpoint of endpoints)
      for (const path of [endpoint.path, ...(endpoint.aliases ?? [])])
        for (const method of endpoint.methods)
          described.route({
            method,
            url: `${API_PREFIX}${path}`,
            schema: describe(endpoint, method, path),
            handler: () => undefined,
          });
  });
  await app.ready();
  return app;
}
