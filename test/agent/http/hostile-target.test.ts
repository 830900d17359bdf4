import { randomBytes } from "node:crypto";
import {
  constants,
  deflateRawSync,
  deflateSync,
  gzipSync,
  brotliCompressSync,
  zstdCompressSync,
} from "node:zlib";
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { answering, endless, startRawTarget, startTarget } from "../../support/target-server.ts";
import { undisturbed } from "../../support/undisturbed.ts";
import { call, codeOf, statusOf } from "../calling.ts";

const MIB = 1024 * 1024;
const OK = "HTTP/1.1 200 OK\r\n";
const BODY = "Content-Length: 2\r\n\r\nok";

describe("an invalid response", () => {
  it.each([
    ["a bad chunk size", `${OK}Transfer-Encoding: chunked\r\n\r\nzz\r\nab\r\n0\r\n\r\n`],
    ["two different lengths", `${OK}Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc`],
    [
      "a length and chunks",
      `${OK}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`,
    ],
    ["NUL in a header", `${OK}X-A: a\0b\r\n${BODY}`],
    ["a bare CR in a header", `${OK}X-A: a\rb\r\n${BODY}`],
    ["a space in a header's name", `${OK}X A: a\r\n${BODY}`],
    ["garbage before the status line", `garbage\r\n${OK}${BODY}`],
    ["no status", `HTTP/1.1 \r\n${BODY}`],
    ["a protocol of its own", `ICY 200 OK\r\n${BODY}`],
    ["status 000", `HTTP/1.1 000 What\r\n${BODY}`],
    [
      "a switch of protocols",
      "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
    ],
    ["a switch of protocols that names none", "HTTP/1.1 101 Switching Protocols\r\n\r\n"],
    ["a status of four digits", `HTTP/1.1 1000 X\r\n\r\n${OK}${BODY}`],
  ])("with %s is malformed", async (_, answer) => {
    await using target = await startRawTarget(answering(answer));
    const outcome = await call(target.url);
    expect(outcome.result).toBe("CONNECTION_ERROR");
    expect(codeOf(outcome)).toBe("malformed_response");
  });

  it.each([
    ["a second length", "Content-Length: 3"],
    ["Transfer-Encoding", "Transfer-Encoding: chunked"],
    ["a malformed header", "X A: a"],
  ])("with a length and %s gets a message that lists the possible faults", async (_, header) => {
    await using target = await startRawTarget(
      answering(`${OK}Content-Length: 2\r\n${header}\r\n\r\nok`),
    );
    const { message } = await call(target.url);
    expect(message).toMatch(
      /\(its head has a length and a fault: Transfer-Encoding, another length, .*malformed header\)$/,
    );
  });

  it.each(["100 Continue", "102 Processing"])("with endless %s is too large", async (status) => {
    await using target = await startRawTarget(
      answering(`HTTP/1.1 ${status}\r\n\r\n`.repeat(100_000), {
        close: false,
      }),
    );
    const outcome = await call(target.url, {
      behaviour: { timeoutMs: 5000 },
    });
    expect(codeOf(outcome)).toBe("too_large");
  });
});

describe("an unusual response", () => {
  it.each([
    ["199 before it", `HTTP/1.1 199 What\r\n\r\n${OK}${BODY}`, 200, 2],
    ["103 before it", `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${OK}${BODY}`, 200, 2],
    [
      "103 that closes before it",
      `HTTP/1.1 103 E\r\nConnection: close\r\n\r\n${OK}${BODY}`,
      200,
      2,
    ],
    ["an unasked 100 before it", `HTTP/1.1 100 Continue\r\nX-A: a\r\n\r\n${OK}${BODY}`, 200, 2],
    ["204 with bytes after it", `HTTP/1.1 204 No Content\r\n\r\nbody`, 204, 0],
    ["bytes after its body", `${OK}${BODY}HTTP/1.1 500 Oops\r\n\r\n`, 200, 2],
    ["close as the end of its body", `${OK}\r\nall of it`, 200, 9],
    ["HTTP/1.0", `HTTP/1.0 200 OK\r\n\r\nok`, 200, 2],
    ["no reason phrase", `HTTP/1.1 200\r\n${BODY}`, 200, 2],
    ["a space after its length", `${OK}Content-Length: 2 \r\n\r\nok`, 200, 2],
    ["a space after its length of 0", `${OK}Content-Length: 0 \r\n\r\n`, 200, 0],
    ["folded headers", `${OK}X-A: a\r\n b\r\nX-B: a;\n\tb\r\n${BODY}`, 200, 2],
    ["trailers", `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n`, 200, 2],
    ["an unknown content coding", `${OK}Content-Encoding: utf-8\r\n${BODY}`, 200, 2],
  ])("with %s is complete", async (_, answer, status, size) => {
    await using target = await startRawTarget(answering(answer));
    const outcome = await call(target.url);
    expect(outcome).toMatchObject({ result: "COMPLETE", message: null });
    expect(statusOf(outcome)).toBe(status);
    expect(outcome.last.responseSize).toBe(size);
    expect(target.connections()).toBe(1);
  });

  it("starts its download with an early unsolicited 100", async () => {
    await using target = await startRawTarget((socket) => {
      socket.write("HTTP/1.1 100 Continue\r\n\r\n");
      setTimeout(() => socket.end(`${OK}${BODY}`), 400);
    });
    const { result, last } = await undisturbed(() => call(target.url));
    expect(result).toBe("COMPLETE");
    expect(last.phases.processing).toBeLessThan(200);
    expect(last.phases.download).toBeGreaterThan(200);
  });

  it("sent byte by byte keeps its whole reason phrase", async () => {
    await using target = await startRawTarget((socket) => {
      const bytes = [...Buffer.from(`HTTP/1.1 200 All of it\r\n${BODY}`)];
      const send = (): void => {
        const byte = bytes.shift();
        if (byte === undefined) return void socket.end();
        socket.write(Buffer.of(byte), () => setImmediate(send));
      };
      socket.setNoDelay(true);
      send();
    });
    const { last } = await call(target.url);
    expect(last.response?.status_string).toBe("All of it");
  });

  it("with a body to HEAD is complete", async () => {
    await using target = await startRawTarget(answering(`${OK}Content-Encoding: gzip\r\n${BODY}`));
    const outcome = await call(target.url, { request: { method: "HEAD" } });
    expect(outcome.result).toBe("COMPLETE");
    expect(outcome.last.responseSize).toBe(0);
  });

  it("sent before the request ends is accepted", async () => {
    await using target = await startRawTarget((socket) => {
      socket.once("data", () => socket.write(`HTTP/1.1 413 Too Large\r\n${BODY}`));
      socket.resume();
    });
    const outcome = await call(target.url, {
      request: { method: "POST", body: "x".repeat(8 * MIB) },
    });
    expect(outcome.result).toBe("HTTP_CLIENT_ERROR");
    expect(statusOf(outcome)).toBe(413);
  });
});

describe("a header's value", () => {
  it.each([
    ["without white space after it", "v \t ", "v"],
    ["without white space before it", "\t  v", "v"],
    ["with white space within it", "v \t w", "v \t w"],
    ["with other bytes around it", "\xa0v\xc3\xa0", "\xa0v\xc3\xa0"],
    ["of white space as none", " \t ", ""],
    ["of a long white space", `v${" ".repeat(60_000)}w`, undefined],
  ])("is kept %s", async (_, sent, value = sent) => {
    await using target = await startRawTarget(
      answering(Buffer.from(`${OK}Content-Type:${sent}\r\n${BODY}`, "latin1")),
    );
    const { last } = await call(target.url);
    expect(last.response?.headers[0]?.value).toBe(value);
    expect(last.content?.content_type).toBe(value || null);
  });
});

describe("a large response", () => {
  it.each([
    ["one header of 1 MB", `X-A: ${"a".repeat(MIB)}\r\n`],
    ["10 MB of headers", `X-A: ${"a".repeat(1000)}\r\n`.repeat(10_000)],
    ["10,000 small headers", "a: b\r\n".repeat(10_000)],
    ["66 KB of headers", `X-A: ${"a".repeat(66_000)}\r\n`],
    ["1,001 headers", "a: b\r\n".repeat(1000)],
  ])("with %s is cut off", async (_, headers) => {
    await using target = await startRawTarget(
      answering(`${OK}${headers}${BODY}`, { close: false }),
    );
    const outcome = await call(target.url, { behaviour: { timeoutMs: 5000 } });
    expect(outcome.result).toBe("CONNECTION_ERROR");
    expect(codeOf(outcome)).toBe("too_large");
    await expect.poll(() => target.open()).toBe(0);
  });

  it("with a reason phrase of 1 MiB is cut off", async () => {
    await using target = await startRawTarget(
      answering(`HTTP/1.1 200 ${"x".repeat(MIB)}\r\n${BODY}`, {
        close: false,
      }),
    );
    const outcome = await call(target.url, { behaviour: { timeoutMs: 5000 } });
    expect(codeOf(outcome)).toBe("too_large");
    await expect.poll(() => target.open()).toBe(0);
  });

  it("with 60 KB of headers is accepted", async () => {
    await using target = await startRawTarget(
      answering(`${OK}X-A: ${"a".repeat(60_000)}\r\n${BODY}`),
    );
    expect((await call(target.url)).result).toBe("COMPLETE");
  });

  it("with 1,000 headers is accepted", async () => {
    await using target = await startRawTarget(answering(`${OK}${"a: b\r\n".repeat(999)}${BODY}`));
    const { last } = await call(target.url);
    expect(last.response?.headers).toHaveLength(1000);
  });

  it("that never ends is cut off, and memory stays flat", async () => {
    await using target = await startRawTarget(endless(`${OK}\r\n`, Buffer.alloc(64 * 1024)));
    const before = process.memoryUsage().rss;
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => call(target.url)));
    for (const outcome of outcomes) expect(codeOf(outcome)).toBe("too_large");
    expect(process.memoryUsage().rss - before).toBeLessThan(150 * MIB);
  });
});

describe("bytes outside the body", () => {
  const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;

  it.each([
    ["one endless chunk extension", `${CHUNKED}1;`, "e".repeat(64 * 1024)],
    ["an extension to each chunk", CHUNKED, `1;${"e".repeat(16 * 1024)}\r\nb\r\n`.repeat(4)],
    ["leading zeros of a chunk size", CHUNKED, "0".repeat(64 * 1024)],
    ["endless trailers", `${CHUNKED}0\r\n`, "A: b\r\n".repeat(10_000)],
    ["one endless trailer", `${CHUNKED}0\r\nA: `, "b".repeat(64 * 1024)],
    ["interim responses", "", `HTTP/1.1 103 Early\r\nA: ${"b".repeat(8000)}\r\n\r\n`.repeat(8)],
  ])("count toward the size limit: %s", async (_, start, piece) => {
    let socket: Socket | undefined;
    await using target = await startRawTarget((accepted) => {
      socket = accepted;
      endless(start, piece)(accepted);
    });
    expect(codeOf(await call(target.url))).toBe("too_large");
    expect(socket?.bytesWritten).toBeLessThan(40 * MIB);
  });

  it("of 5 MB are accepted", async () => {
    const extended = `1;${"e".repeat(1024)}\r\nb\r\n`.repeat(5000);
    await using target = await startRawTarget(answering(`${CHUNKED}${extended}0\r\n\r\n`));
    expect(statusOf(await call(target.url))).toBe(200);
  });
});

describe("an encoded body", () => {
  const text = Buffer.from("hello ".repeat(1000));
  const encoded = (encoding: string, body: Buffer): Buffer =>
    Buffer.concat([
      Buffer.from(`${OK}Content-Encoding: ${encoding}\r\nContent-Length: ${body.length}\r\n\r\n`),
      body,
    ]);

  it.each([
    ["gzip", gzipSync(text)],
    ["x-gzip", gzipSync(text)],
    ["GZIP", gzipSync(text)],
    ["deflate", deflateSync(text)],
    ["deflate", deflateRawSync(text)],
    ["br", brotliCompressSync(text)],
    ["zstd", zstdCompressSync(text)],
    ["identity, gzip", gzipSync(text)],
    ["br, gzip", gzipSync(brotliCompressSync(text))],
    ["deflate, gzip", gzipSync(deflateSync(text))],
    ["deflate, gzip", gzipSync(deflateRawSync(text))],
    ["deflate, deflate", deflateRawSync(deflateRawSync(text))],
    ["deflate, gzip", gzipSync("")],
    ["gzip, gzip, gzip", gzipSync(gzipSync(gzipSync(text)))],
    ["gzip", Buffer.concat([gzipSync(text), gzipSync(text)])],
    ["zstd", Buffer.concat([zstdCompressSync(text), zstdCompressSync(text)])],
    ["gzip", Buffer.alloc(0)],
  ])("in %s is accepted, and counted as on the wire", async (encoding, body) => {
    await using target = await startRawTarget(answering(encoded(encoding, body)));
    const outcome = await call(target.url);
    expect(outcome).toMatchObject({ result: "COMPLETE", message: null });
    expect(outcome.last.responseSize).toBe(body.length);
  });

  it.each([
    ["gzip", "malformed_response", gzipSync(text).subarray(0, -8)],
    ["gzip", "malformed_response", text],
    ["br", "malformed_response", gzipSync(text)],
    ["zstd", "malformed_response", gzipSync(text)],
    ["gzip, gzip, gzip, gzip", "malformed_response", gzipSync(gzipSync(gzipSync(gzipSync(text))))],
    ["gzip", "malformed_response", Buffer.concat([gzipSync(text), text])],
    ["deflate", "malformed_response", Buffer.concat([deflateSync(text), text])],
    ["deflate", "malformed_response", deflateSync(text).subarray(0, -8)],
    ["deflate", "malformed_response", deflateRawSync(text).subarray(0, -8)],
    ["deflate, gzip", "malformed_response", gzipSync(text)],
    ["br", "malformed_response", Buffer.concat([brotliCompressSync(text), text])],
    ["zstd", "malformed_response", Buffer.concat([zstdCompressSync(text), text])],
    ["zstd", "malformed_response", withWindow(24)],
    ["gzip", "too_large", gzipSync(Buffer.alloc(64 * MIB))],
    ["deflate", "too_large", deflateRawSync(Buffer.alloc(64 * MIB))],
    ["br", "too_large", quickBrotli(Buffer.alloc(64 * MIB))],
    ["zstd", "too_large", zstdCompressSync(Buffer.alloc(64 * MIB))],
    ["gzip, gzip", "too_large", gzipSync(gzipSync(Buffer.alloc(64 * MIB)))],
  ])("in %s is %s (%#)", async (encoding, code, body) => {
    await using target = await startRawTarget(answering(encoded(encoding, body)));
    const outcome = await call(target.url);
    expect(outcome.result).toBe("CONNECTION_ERROR");
    expect(codeOf(outcome)).toBe(code);
    expect(statusOf(outcome)).toBe(200);
  });
});

describe("a body in pieces", () => {
  const random = randomBytes(MIB);
  const CODERS = [
    ["gzip", gzipSync],
    ["deflate", deflateSync],
    ["deflate", deflateRawSync],
    ["br", quickBrotli],
    ["zstd", zstdCompressSync],
  ] as const;

  it.each(CODERS)("is complete if the connection closes after it: %s", async (coding, encode) => {
    const body = encode(random);
    await using target = await startRawTarget((socket) => {
      socket.write(`${OK}Content-Encoding: ${coding}\r\nContent-Length: ${body.length}\r\n\r\n`);
      socket.end(body);
    });
    const outcome = await call(target.url);
    expect(outcome).toMatchObject({ result: "COMPLETE", message: null });
    expect(outcome.last.content?.size).toBe(random.length);
  });

  it.each(CODERS)("is malformed if something follows it: %s", async (coding, encode) => {
    const body = encode(Buffer.from("hello"));
    await using target = await startRawTarget((socket) => {
      socket.write(`${OK}Content-Encoding: ${coding}\r\nTransfer-Encoding: chunked\r\n\r\n`);
      socket.write(`${body.length.toString(16)}\r\n`);
      socket.write(body);
      setTimeout(() => socket.end("\r\n4\r\nmore\r\n0\r\n\r\n"), 50);
    });
    const outcome = await call(target.url);
    expect(codeOf(outcome)).toBe("malformed_response");
  });

  it("that expands to 64 MiB leaves memory flat", { tags: "slow" }, async () => {
    const bomb = gzipSync(Buffer.alloc(64 * MIB), { level: 1 });
    await using target = await startRawTarget((socket) => {
      socket.write(`${OK}Content-Encoding: gzip\r\n\r\n`);
      socket.end(bomb);
    });
    const before = process.memoryUsage().rss;
    const outcomes = await Promise.all(Array.from({ length: 30 }, () => call(target.url)));
    for (const outcome of outcomes) expect(codeOf(outcome)).toBe("too_large");
    expect(process.memoryUsage().rss - before).toBeLessThan(150 * MIB);
  });

  it("in chunks of one byte leaves memory flat", async () => {
    await using target = await startRawTarget((socket) => {
      socket.write(`${OK}Transfer-Encoding: chunked\r\n\r\n`);
      socket.write("1\r\nx\r\n".repeat(32_000));
      socket.end("0\r\n\r\n");
    });
    const before = process.memoryUsage().rss;
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => call(target.url)));
    for (const { last } of outcomes) expect(last.content?.size).toBe(32_000);
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * MIB);
  });
});

/** Returns a body whose decoding needs a window of 2^log bytes. */
function withWindow(log: number): Buffer {
  const body = randomBytes(MIB);
  const params = { [constants.ZSTD_c_windowLog]: log };
  return zstdCompressSync(Buffer.concat(Array(20).fill(body)), { params });
}

function quickBrotli(body: Buffer): Buffer {
  const params = { [constants.BROTLI_PARAM_QUALITY]: 1 };
  return brotliCompressSync(body, { params });
}

describe("slow targets", () => {
  it("do not starve a fast one", async () => {
    const held: ServerResponse[] = [];
    await using slow = await startTarget((_, response) => held.push(response));
    await using fast = await startTarget();
    const waiting = Array.from({ length: 200 }, () => call(slow.url));
    await expect.poll(() => held.length).toBe(200);
    expect((await call(fast.url)).result).toBe("COMPLETE");
    for (const response of held) response.end();
    const outcomes = await Promise.all(waiting);
    expect(new Set(outcomes.map(({ result }) => result))).toEqual(new Set(["COMPLETE"]));
  });
});
