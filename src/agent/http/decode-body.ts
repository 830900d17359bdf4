// Content codings (RFC 9110 section 8.4) undone in a stream, so that a body which expands without
// end costs no memory.
import { pipeline, Transform, Writable } from "node:stream";
import type { Duplex } from "node:stream";
import { constants, createBrotliDecompress, createGunzip } from "node:zlib";
import { CallFailure } from "./failure.ts";
import { createInflater } from "./inflater.ts";
import { createZstdFrames } from "./zstd-frames.ts";

export interface BodyDecoder {
  /** False: wait for `onceReady` before the next. */
  write(chunk: Buffer): boolean;
  onceReady(resume: () => void): void;
  /** `onDone` is called when all is decoded, and not called when that fails. */
  end(onDone: () => void): void;
  destroy(): void;
}

export const MAX_CODINGS = 3;
// RFC 9659: the window that a zstd content coding may use at most, 8 MB.
const ZSTD_WINDOW = { [constants.ZSTD_d_windowLogMax]: 23 };

const DECODERS: Record<string, () => Duplex> = {
  // What follows is no garbage: Node puts the members (RFC 1952 section 2.2) together.
  gzip: () => createGunzip(),
  "x-gzip": () => createGunzip(),
  deflate: createInflater,
  br: () => createBrotliDecompress({ rejectGarbageAfterEnd: true }),
  zstd: () => createZstdFrames({ params: ZSTD_WINDOW }),
};

/**
 * The codings to undo, in the order of their application. One that is not known is left alone, as
 * browsers do: the header often names what is none.
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
  /** For a body that does not decode, or to more than `maxBytes`. */
  readonly onFailure: (failure: CallFailure) => void;
}

export function createBodyDecoder(
  codings: readonly string[],
  { maxBytes, onData, onFailure }: DecodedBody,
): BodyDecoder {
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
    // A decoder may have come to its end before the body has; the rest is nothing to it.
    write: (chunk) => ended || entry.write(chunk),
    onceReady: (resume) => void entry.once("drain", resume),
    end(onDone) {
      if (ended) return onDone();
      onEnd = onDone;
      entry.end();
    },
    destroy: () => void entry.destroy(),
  };
}

/** After each decoder, so that none expands without end for the next. */
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
