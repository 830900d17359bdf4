// Content codings (RFC 9110 section 8.4) undone in a stream, so that a body which expands without end costs no memory.
import { pipeline, Writable } from "node:stream";
import type { Transform } from "node:stream";
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from "node:zlib";
import { CallFailure } from "./failure.ts";

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

const DECODERS: Record<string, (firstByte: number) => Transform> = {
  gzip: () => createGunzip(),
  "x-gzip": () => createGunzip(),
  // Some servers leave out the zlib header, whose low four bits are always 8 (RFC 1950).
  deflate: (firstByte) =>
    (firstByte & 0x0f) === 8 ? createInflate() : createInflateRaw(),
  br: () => createBrotliDecompress(),
  zstd: () => createZstdDecompress({ params: ZSTD_WINDOW }),
};

/**
 * The codings to undo, in the order of their application. One that is not known is left alone, as browsers do: the
 * header often names what is none.
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
  firstChunk: Buffer,
  { maxBytes, onData, onFailure }: DecodedBody,
): BodyDecoder {
  const sink = countingSink(maxBytes, onData);
  const stages = codings
    .toReversed()
    .flatMap(
      (coding, at) =>
        DECODERS[coding]?.(at === 0 ? (firstChunk[0] ?? 0) : 8) ?? [],
    );
  const [entry = sink] = stages;
  let finish = (): void => undefined;
  pipeline([...stages, sink], (cause) => {
    if (!cause) finish();
    else onFailure(decodeFailure(cause, codings));
  });
  return {
    write: (chunk) => entry.write(chunk),
    onceReady: (resume) => void entry.once("drain", resume),
    end(onDone) {
      finish = onDone;
      entry.end();
    },
    destroy: () => void entry.destroy(),
  };
}

function countingSink(
  maxBytes: number,
  onData: (chunk: Buffer) => void,
): Writable {
  let size = 0;
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      size += chunk.length;
      onData(chunk);
      done(
        size > maxBytes
          ? new CallFailure(
              "too_large",
              `the decoded body is larger than ${maxBytes} bytes`,
            )
          : null,
      );
    },
  });
}

const decodeFailure = (
  cause: Error,
  codings: readonly string[],
): CallFailure =>
  cause instanceof CallFailure
    ? cause
    : new CallFailure(
        "malformed_response",
        `the body is not valid ${codings.join(", ")}`,
        { cause },
      );
