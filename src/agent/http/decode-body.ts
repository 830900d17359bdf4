// Decodes content codings (RFC 9110 section 8.4) as a stream: an endlessly expanding body costs no
// memory.
import { Duplex, pipeline, Transform, Writable } from "node:stream";
import type { DuplexOptions } from "node:stream";
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from "node:zlib";
import type { ZlibOptions, ZstdOptions } from "node:zlib";
import { CallFailure } from "./failure.ts";

export type BodyDecoder = ReturnType<typeof createBodyDecoder>;

export const MAX_CODINGS = 3;
// RFC 9659: the largest window of the zstd content coding, 8 MB.
const ZSTD_WINDOW = { [constants.ZSTD_d_windowLogMax]: 23 };

/** Buffer in front of a decoder, in bytes: reading must not wait for decoding. */
const WAITING: ZlibOptions & DuplexOptions = { writableHighWaterMark: 1024 * 1024 };

const DECODERS: Record<string, () => Duplex> = {
  // Without `rejectGarbageAfterEnd`, Node joins the members (RFC 1952 section 2.2).
  gzip: () => createGunzip(WAITING),
  "x-gzip": () => createGunzip(WAITING),
  deflate: createInflater,
  br: () => createBrotliDecompress({ ...WAITING, rejectGarbageAfterEnd: true }),
  zstd: () => createZstdFrames({ params: ZSTD_WINDOW }),
};

/**
 * The codings to undo, in the order of their application. Unknown ones are ignored, as in browsers:
 * the header often names something else.
 */
export const knownCodings = (contentEncoding: string): string[] =>
  contentEncoding
    .toLowerCase()
    .split(",")
    .map((coding) => coding.trim())
    .filter((coding) => Object.hasOwn(DECODERS, coding));

export interface DecodedBody {
  readonly maxBytes: number;
  readonly onData: (chunk: Buffer) => void;
  /** Called if the body does not decode, or decodes to more than `maxBytes`. */
  readonly onFailure: (failure: CallFailure) => void;
}

export function createBodyDecoder(
  codings: readonly string[],
  { maxBytes, onData, onFailure }: DecodedBody,
) {
  const decoders = codings.toReversed().flatMap((coding) => DECODERS[coding]?.() ?? []);
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      onData(chunk);
      done();
    },
  });
  const stages = decoders.flatMap((decoder) => [decoder, limitTo(maxBytes)]);
  const [entry = sink] = stages;
  let onEnd = (): void => undefined;
  let ended = false;
  pipeline([...stages, sink], (cause) => {
    if (cause) return onFailure(decodeFailure(cause, codings));
    ended = true;
    onEnd();
  });
  return {
    /**
     * Returns false if the next chunk must wait for `onceReady`. A coding may end before the body
     * does; the rest is dropped.
     */
    write: (chunk: Buffer): boolean => ended || entry.write(chunk),
    onceReady: (resume: () => void): void => void entry.once("drain", resume),
    /** Calls `onDone` when everything is decoded; never if decoding fails. */
    end(onDone: () => void): void {
      if (ended) return onDone();
      onEnd = onDone;
      entry.end();
    },
    destroy: (): void => void entry.destroy(),
  };
}

/** Follows each decoder: none may feed endless output to the next. */
function limitTo(maxBytes: number): Transform {
  let size = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length;
      if (size <= maxBytes) return done(null, chunk);
      done(new CallFailure("too_large", `the decoded body is larger than ${maxBytes} bytes`));
    },
  });
}

const decodeFailure = (cause: Error, codings: readonly string[]): CallFailure =>
  cause instanceof CallFailure
    ? cause
    : new CallFailure("malformed_response", `the body is not valid ${codings.join(", ")}`, {
        cause,
      });

// The low four bits of a zlib header are always 8 (RFC 1950 section 2.2).
const hasHeader = (firstByte = 0): boolean => (firstByte & 0x0f) === 8;

/**
 * Decodes `deflate` (RFC 9110 section 8.4.1.2), also without the zlib header, which some servers
 * omit: the first byte decides. Fails if the coding is malformed, cut short, or followed by more.
 */
function createInflater(): Duplex {
  let inflate: Duplex | undefined;
  const output = new Duplex({
    ...WAITING,
    write(chunk: Buffer, _encoding, done) {
      inflate ??= begin(chunk[0]);
      inflate.write(chunk, done);
    },
    read: () => void inflate?.resume(),
    final(done) {
      if (inflate) inflate.once("end", done).end();
      else done();
    },
    destroy(cause, done) {
      inflate?.destroy();
      done(cause);
    },
  });
  const begin = (firstByte: number | undefined): Duplex => {
    const create = hasHeader(firstByte) ? createInflate : createInflateRaw;
    return create({ rejectGarbageAfterEnd: true })
      .on("data", (decoded: Buffer) => {
        if (!output.push(decoded)) inflate?.pause();
      })
      .on("error", (cause) => output.destroy(cause));
  };
  output.once("finish", () => output.push(null));
  return output;
}

/** Each frame needs its own decompressor, which costs more than a small frame. */
const MAX_FRAMES = 100;

/**
 * Decodes up to `MAX_FRAMES` consecutive zstd frames (RFC 8878 section 3.1), since Node's
 * decompressor ends after the first. Fails if there are more, or if one is malformed or cut short.
 */
export function createZstdFrames(options: ZstdOptions): Duplex {
  const output = new Duplex({
    ...WAITING,
    write: (chunk: Buffer, _encoding, done) => feed(chunk, done),
    read: () => void frame.resume(),
    final(done) {
      frame.once("end", done).end();
    },
    destroy(cause, done) {
      frame.destroy();
      done(cause);
    },
  });
  const begin = () =>
    createZstdDecompress(options)
      .on("data", (decoded: Buffer) => {
        if (!output.push(decoded)) frame.pause();
      })
      .on("error", (cause) => output.destroy(cause));
  let frame = begin();
  let frames = 1;
  output.once("finish", () => output.push(null));

  const feed = (chunk: Buffer, done: () => void): void => {
    const before = frame.bytesWritten;
    frame.write(chunk, (cause) => {
      if (cause) return; // the frame's error event reports it
      const rest = chunk.subarray(frame.bytesWritten - before);
      if (rest.length === 0) return done();
      // The rest belongs to the next frame; this one ends once its output has been read.
      const next = (): void => {
        frames += 1;
        if (frames > MAX_FRAMES) return void output.destroy(new Error("too many frames"));
        frame = begin();
        feed(rest, done);
      };
      if (frame.readableEnded) next();
      else frame.once("end", next);
    });
  };
  return output;
}
