// The `deflate` coding (RFC 9110 section 8.4.1.2), also without the zlib header that some servers
// leave out.
import { Duplex } from "node:stream";
import { createInflate, createInflateRaw } from "node:zlib";

// The header's low four bits are always 8 (RFC 1950 section 2.2).
const hasHeader = (firstByte = 0): boolean => (firstByte & 0x0f) === 8;

/**
 * Its first byte decides. Fails for what is no such coding, is cut short, or goes on after its end.
 */
export function createInflater(): Duplex {
  let inflate: Duplex | undefined;
  const output = new Duplex({
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
