// Streams an answer while it is produced. A failure before the first part becomes an error answer;
// a later one breaks the connection: no caller may mistake a part for the whole.
import { once } from "node:events";
import { addAbortSignal, Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { TSchema } from "typebox";
import { AppError } from "../../model/errors.ts";
import type { Logger } from "../../runtime/logger.ts";

/** An answer sent while it is produced, as fast as the caller reads it. */
export interface StreamedAnswer {
  readonly contentType: string;
  /** Set if the answer is to be saved to a file: letters, digits, `-` and `.`. */
  readonly filename?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Ends early, with its `finally`, when the caller leaves or the server stops. */
  readonly text: () => AsyncGenerator<string>;
}

/** One of the media types of a streamed answer. */
export interface Media {
  readonly schema: TSchema;
  /** Makes the example from one of `answer`. */
  readonly example: (of: unknown) => unknown;
}

export interface Sending {
  readonly log: Logger;
  /** Aborted when the caller leaves or the server stops. */
  readonly ended: AbortSignal;
  readonly stalledAfterMs: number;
}

export async function sendStreamed(
  { contentType, filename, headers = {}, text }: StreamedAnswer,
  request: FastifyRequest,
  reply: FastifyReply,
  { log, ended, stalledAfterMs }: Sending,
): Promise<FastifyReply> {
  const stream = addAbortSignal(ended, Readable.from(text(), { objectMode: false }));
  let isSent = false;
  const { method, routeOptions } = request;
  stream.on("error", (err: Error) => {
    if (isSent) breakOff(reply);
    if (!isSent || ended.aborted) return;
    const line = { err, method, route: routeOptions.url };
    log[err instanceof AppError ? "warn" : "error"](line, "response aborted");
  });
  try {
    await once(stream, "readable");
  } catch (error) {
    if (!ended.aborted) throw error;
    reply.raw.destroy();
    return reply.hijack();
  }
  if (stream.errored && !ended.aborted) throw stream.errored;
  isSent = true;
  breakOffStalled(reply, stalledAfterMs);
  reply.type(contentType).headers(headers);
  if (filename !== undefined)
    reply.header("content-disposition", `attachment; filename="${filename}"`);
  if (method !== "HEAD") return reply.send(stream);
  stream.destroy();
  return reply.send(Readable.from([]));
}

/** Aborts the answer once its caller has read nothing for `ms` milliseconds. */
export function breakOffStalled(reply: FastifyReply, ms: number): void {
  reply.raw.setTimeout(ms, () => breakOff(reply));
}

/** In HTTP/1.0, an answer ends with its connection: only a reset tells that more was to come. */
function breakOff({ raw }: FastifyReply): void {
  if (raw.req.httpVersion === "1.0") raw.socket?.resetAndDestroy();
  else raw.destroy();
}
