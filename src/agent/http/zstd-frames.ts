// A zstd body of any number of frames (RFC 8878 section 3.1), which Node's decompressor would end
// after the first one.
import { Duplex } from "node:stream";
import { createZstdDecompress } from "node:zlib";
import type { ZstdOptions } from "node:zlib";

/** Each takes a decompressor of its own, which costs more than a small frame. */
const MAX_FRAMES = 100;

/**
 * Decodes them into one. Fails for what is no frame, for a frame that is cut short, and for more
 * than `MAX_FRAMES`.
 */
export function createZstdFrames(options: ZstdOptions): Duplex {
  const output = new Duplex({
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
      if (cause) return; // told by the frame's event
      const rest = chunk.subarray(frame.bytesWritten - before);
      if (rest.length === 0) return done();
      // What the decompressor leaves is no part of its frame; it ends when what it decoded was
      // read.
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
