import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { constants, zstdCompressSync } from "node:zlib";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { createBodyDecoder, createZstdFrames } from "../../../src/agent/http/decode-body.ts";

const decode = (pieces: readonly Buffer[]): Promise<Buffer> =>
  buffer(Readable.from(pieces).compose(createZstdFrames({})));

const TEXTS = ["", "hello ", "of several ".repeat(5000)].map((text) => Buffer.from(text));
const RANDOM = randomBytes(300_000);

it.each([
  ["one frame", [RANDOM]],
  ["several", [...TEXTS, RANDOM, ...TEXTS]],
  ["a hundred", Array<Buffer>(100).fill(Buffer.from("frame "))],
])("%s in one piece are decoded", async (_, texts) => {
  const body = Buffer.concat(texts.map((text) => zstdCompressSync(text)));
  expect(await decode([body])).toEqual(Buffer.concat(texts));
});

it("frames decode the same wherever the pieces begin", async () => {
  const texts = [...TEXTS, ...TEXTS];
  const body = Buffer.concat(texts.map((text) => zstdCompressSync(text)));
  const whole = Buffer.concat(texts).toString("latin1");
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(body.length)), async (cuts) => {
      const ends = [...cuts, body.length].toSorted((a, b) => a - b);
      const pieces = ends.map((end, at) => body.subarray(ends[at - 1] ?? 0, end));
      expect((await decode(pieces)).toString("latin1")).toBe(whole);
    }),
    { numRuns: 50 },
  );
});

it.each([
  ["no frame", Buffer.from("junk")],
  ["a frame and no frame", Buffer.concat([zstdCompressSync("a"), RANDOM])],
  ["a hundred and one frames", Buffer.concat(Array(101).fill(zstdCompressSync("a")))],
  ["a frame that is cut short", zstdCompressSync(RANDOM).subarray(0, -4)],
  [
    "a second one that is cut short",
    Buffer.concat([zstdCompressSync("a"), zstdCompressSync(RANDOM).subarray(0, -4)]),
  ],
])("%s is not decoded", async (_, body) => {
  await expect(decode([body])).rejects.toThrow();
});

it("a window that is too large is rejected in any frame", async () => {
  const params = { [constants.ZSTD_c_windowLog]: 24 };
  const large = zstdCompressSync(Buffer.concat(Array(70).fill(RANDOM)), {
    params,
  });
  const frames = createZstdFrames({
    params: { [constants.ZSTD_d_windowLogMax]: 23 },
  });
  const body = [zstdCompressSync("a"), large];
  await expect(buffer(Readable.from(body).compose(frames))).rejects.toThrow();
});

it("nothing is decoded before it is read", async () => {
  const bomb = zstdCompressSync(Buffer.alloc(64 * 1024 * 1024));
  const frames = createZstdFrames({});
  const ended = new Promise((resolve) => frames.once("close", resolve));
  frames.end(Buffer.concat([bomb, bomb]));
  const [first] = (await frames.iterator().next()).value as [number];
  expect(first).toBe(0);
  expect(frames.readableLength).toBeLessThan(1024 * 1024);
  frames.destroy();
  await ended;
});

it.each(["gzip", "x-gzip", "deflate", "br", "zstd"])(
  "reading a body of less than 1 MiB never waits for %s",
  (coding) => {
    const decoder = createBodyDecoder([coding], {
      maxBytes: 1,
      onData: () => undefined,
      onFailure: () => undefined,
    });
    for (let read = 64 * 1024; read < 1024 * 1024; read += 64 * 1024)
      expect(decoder.write(Buffer.alloc(64 * 1024)), `${read} bytes`).toBe(true);
    expect(decoder.write(Buffer.alloc(64 * 1024))).toBe(false);
    decoder.destroy();
  },
);
