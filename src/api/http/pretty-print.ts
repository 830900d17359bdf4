// `debug=1` in the query: the same JSON, for a person to read.
import type { FastifyInstance } from "fastify";

export function prettyPrintOnRequest(app: FastifyInstance): void {
  app.addHook("onSend", async (request, reply, payload) => {
    const { debug } = request.query as { readonly debug?: unknown };
    const isJson = String(reply.getHeader("content-type")).startsWith("application/json");
    return debug === "1" && isJson && typeof payload === "string"
      ? `${JSON.stringify(JSON.parse(payload), null, 2)}\n`
      : payload;
  });
}
