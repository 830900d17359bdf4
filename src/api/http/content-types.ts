// What bodies the server takes: JSON, up to a limit, and none at all.
import type { FastifyInstance, FastifyRequest } from "fastify";
import { show } from "../../model/validate.ts";
import { HttpError } from "./errors.ts";
import { parseJsonBody } from "./json-body.ts";

export const MAX_BODY_BYTES = 1024 * 1024;

export function acceptJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  const options = { parseAs: "buffer", bodyLimit: MAX_BODY_BYTES } as const;
  app.addContentTypeParser("application/json", options, async (_request: unknown, body: Buffer) =>
    parseJsonBody(body),
  );
  // Some clients name a type, or a form, and then send nothing.
  app.addContentTypeParser("*", options, async (request: FastifyRequest, body: Buffer) => {
    if (body.length === 0) return undefined;
    const given = request.headers["content-type"] ?? "";
    throw new HttpError(415, `Content-Type ${show(given)} is not supported; send application/json`);
  });
}
