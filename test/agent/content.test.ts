import { gzipSync } from "node:zlib";
import type { RequestListener } from "node:http";
import { describe, expect, it } from "vitest";
import type { Content } from "../../src/model/content.ts";
import { runReportValidator } from "../../src/model/result.ts";
import type { TickCall } from "../../src/model/tick.ts";
import { startTarget } from "../support/target-server.ts";
import { newCall, newRunSettings, newTick, runTick } from "./calling.ts";

const KIB = 1024;

async function contentOf(
  handler: RequestListener,
  request: Partial<TickCall["request"]> = {},
): Promise<Content | null | undefined> {
  await using target = await startTarget(handler);
  const call = newCall({
    ...request,
    url: `${target.url}${request.url ?? "/"}`,
  });
  const report = await runTick(newRunSettings(), newTick(call));
  runReportValidator.parse(report);
  return report.results[0]?.content;
}

const answering =
  (type: string | undefined, body: Buffer | string, encoding?: string) =>
  (...[, response]: Parameters<RequestListener>): void => {
    if (type) response.setHeader("content-type", type);
    if (encoding) response.setHeader("content-encoding", encoding);
    response.end(body);
  };

describe("the body of a response", () => {
  it.each([
    ["JSON", "application/json", Buffer.from('{"a":"ü"}'), "utf-8"],
    ["text of no type", undefined, Buffer.from("plain\r\n\ttext"), "utf-8"],
    ["HTML", "text/html; charset=UTF-8", Buffer.from("<b>ü</b>"), "utf-8"],
    [
      "Latin-1",
      'text/plain; charset="iso-8859-1"',
      Buffer.from("gr\xfc\xdfe", "latin1"),
      "windows-1252",
    ],
    ["nothing", "text/plain", Buffer.alloc(0), "utf-8"],
    ["32 KB of text", "text/plain", Buffer.alloc(32 * KIB, "x"), "utf-8"],
  ])("is reported if it is %s", async (_, type, body, encoding) => {
    expect(await contentOf(answering(type, body))).toEqual({
      content_type: type ?? null,
      encoding,
      size: body.length,
      content: new TextDecoder(encoding).decode(body),
      reason: null,
    });
  });

  it.each([
    ["binary", "too long", Buffer.alloc(32 * KIB + 1, "x"), "too_large"],
    ["text/plain", "with NUL", Buffer.from("a\0b"), "binary"],
    ["text/plain", "not UTF-8", Buffer.from([0x61, 0xff, 0x62]), "binary"],
    ["image/png", "an image", Buffer.from("\x89PNG\r\n\x1a\n"), "binary"],
    ["text/plain; charset=none", "in an unknown charset", "text", "binary"],
  ])("of type %s is not reported if it is %s", async (type, _, body, reason) => {
    expect(await contentOf(answering(type, body))).toEqual({
      content_type: type,
      encoding: null,
      size: Buffer.byteLength(body),
      content: null,
      reason,
    });
  });

  it("is reported if its type is given twice", async () => {
    const type = "text/plain; charset=utf-8";
    const content = await contentOf((_, response) => {
      response.setHeader("content-type", [type, type]).end("text");
    });
    expect(content).toMatchObject({ encoding: "utf-8", content: "text" });
  });

  it("is decoded, and its size is the decoded one", async () => {
    const text = "hello ".repeat(1000);
    expect(await contentOf(answering("text/plain", gzipSync(text), "gzip"))).toMatchObject({
      size: text.length,
      content: text,
    });
  });

  it("is that of the last response after a redirect", async () => {
    const content = await contentOf((request, response) => {
      if (request.url === "/") response.writeHead(302, { location: "/next" });
      response.end(request.url);
    });
    expect(content).toMatchObject({ content: "/next" });
  });

  it("is not reported for an incomplete response", async () => {
    const content = await contentOf((_, response) => {
      response.writeHead(200, { "content-length": "10" });
      response.write("abc", () => response.destroy());
    });
    expect(content).toBeNull();
  });

  it("is masked where it echoes sent credentials", async () => {
    const content = await contentOf(
      (request, response) => response.end(JSON.stringify([request.headers, request.url])),
      {
        url: "/?api_key=hushhush1&q=shown",
        headers: [
          { key: "Authorization", value: "Bearer hushhush2" },
          { key: "Cookie", value: "a=hushhush3; b=hushhush4" },
          { key: "X-Shown", value: "shown" },
        ],
      },
    );
    expect(content?.content).not.toContain("hush");
    expect(content?.content).toContain('"x-shown":"shown"');
  });

  it("is reported with its access token masked", async () => {
    const body = { access_token: 'a"b', token_type: "Bearer", expires_in: 60 };
    const content = await contentOf(answering("application/json", JSON.stringify(body)));
    expect(JSON.parse(content?.content ?? "")).toEqual({
      ...body,
      access_token: "********",
    });
  });
});
