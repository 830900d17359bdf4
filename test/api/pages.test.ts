// How the API serves the web pages: which paths belong to them, with which headers and encodings.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PAGES } from "../../src/api/pages.ts";
import { startApi } from "../support/api.ts";
import type { ApiConfig } from "../../src/api/server.ts";
import type { TestApi } from "../support/api.ts";

const HTML = '<!doctype html><head><base href="/" /><title>Sonde</title></head>';
const SCRIPT = "export const it = 'works';\n".repeat(100);
const BROWSER = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

const folder = `${mkdtempSync(join(tmpdir(), "sonde-pages-"))}/`;
mkdirSync(`${folder}assets`);
writeFileSync(`${folder}index.html`, HTML);
writeFileSync(`${folder}secret.txt`, "beside the assets");
writeFileSync(`${folder}assets/index-abc123.js`, SCRIPT);
writeFileSync(`${folder}assets/index-abc123.js.gz`, gzipSync(SCRIPT));
writeFileSync(`${folder}assets/index-abc123.js.br`, brotliCompressSync(SCRIPT));
afterAll(() => rmSync(folder, { recursive: true }));

const startPages = (config: Partial<ApiConfig> = {}) =>
  startApi({ config: { pagesFolder: folder, ...config } });

let api: TestApi;
beforeAll(async () => {
  api = await startPages();
});
afterAll(() => api[Symbol.asyncDispose]());

/** Sends no key, like everything in this file. */
const get = async (path: string, headers: Record<string, string> = {}) =>
  api.api.app.inject({ url: path, headers });

describe("a page", () => {
  const PATHS = PAGES.flatMap((page) => [`/${page}`, `/${page}/`, `/${page}/some-id/edit`]);

  it.each(["/", ...PATHS])("is served at %s to a browser without a key", async (path) => {
    const { statusCode, headers, payload } = await get(path, BROWSER);
    expect([statusCode, payload]).toEqual([200, HTML]);
    expect(headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-cache",
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
      "referrer-policy": "no-referrer",
      "cross-origin-opener-policy": "same-origin",
    });
    const policy = String(headers["content-security-policy"]).split("; ");
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy.join()).not.toMatch(/unsafe|\*|https?:/);
  });

  it("is sent again only when it has changed", async () => {
    const { headers } = await get("/calls");
    for (const known of [String(headers["etag"]), `W/${String(headers["etag"])}`]) {
      const again = await get("/calls", { "if-none-match": known });
      expect([again.statusCode, again.payload]).toEqual([304, ""]);
    }
    expect((await get("/calls", { "if-none-match": '"old"' })).statusCode).toBe(200);
  });

  it("answers HEAD", async () => {
    const page = await api.send({ method: "HEAD", path: "//calls", as: null });
    expect([page.status, page.text, page.headers["content-length"]]).toEqual([
      200,
      "",
      String(HTML.length),
    ]);
    const asset = await api.send({ method: "HEAD", path: "//assets/index-abc123.js", as: null });
    expect([asset.status, asset.text]).toEqual([200, ""]);
  });

  it("cannot be changed", async () => {
    const answer = await api.send({ method: "POST", path: "//calls", body: {} });
    expect([answer.status, answer.headers["allow"]]).toEqual([405, "GET, HEAD"]);
  });

  const UNKNOWN = ["/nowhere", "/callsx", "/index.html", "/web/dist/index.html", "/favicon.ico"];

  it.each(UNKNOWN)("is not served to a program at %s", async (path) => {
    const { statusCode, headers, payload } = await get(path, { accept: "*/*" });
    expect([statusCode, JSON.parse(payload)]).toEqual([
      404,
      { error_msg: expect.any(String), error: 404 },
    ]);
    expect(headers["cache-control"]).toBe("no-store");
  });

  it.each(UNKNOWN)("is served with 404 to a browser at %s", async (path) => {
    const { statusCode, headers, payload } = await get(path, BROWSER);
    expect([statusCode, payload]).toEqual([404, HTML]);
    expect(headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "x-frame-options": "DENY",
      "content-security-policy": expect.stringContaining("default-src 'none'"),
    });
  });

  it.each(["/api/2/nowhere/", "/assets/none.js"])(
    "is not served to a browser at %s",
    async (path) => {
      const { statusCode, payload } = await get(path, BROWSER);
      expect([statusCode, JSON.parse(payload)]).toMatchObject([404, { error: 404 }]);
    },
  );

  it("is not the answer to POST at an unknown path", async () => {
    const answer = await api.send({ method: "POST", path: "//nowhere", headers: BROWSER });
    expect([answer.status, answer.body]).toMatchObject([404, { error: 404 }]);
  });

  it.each(["*/*", "application/json", undefined])(
    "is not served at / to a program that accepts %s",
    async (accept) => {
      const { statusCode, payload } = await get("/", accept === undefined ? {} : { accept });
      expect([statusCode, JSON.parse(payload)]).toMatchObject([200, { name: "Sonde" }]);
    },
  );

  it("has its base at the path of the public URL", async () => {
    await using renamed = await startPages({ publicUrl: "https://example.com/a%20b/$&amp" });
    const { text } = await renamed.send({ path: "//calls", as: null });
    expect(text).toContain('<base href="/a%20b/$&amp;amp/" />');
  });
});

describe("an asset", () => {
  const PATH = "/assets/index-abc123.js";

  it.each([
    ["br", "gzip, deflate, br, zstd", brotliDecompressSync],
    ["gzip", "gzip, deflate", gunzipSync],
    [undefined, "identity", (bytes: Buffer) => bytes],
  ])("is sent as %s if %s is accepted, and cached forever", async (coding, accepted, decode) => {
    const { statusCode, headers, rawPayload } = await get(PATH, { "accept-encoding": accepted });
    expect([statusCode, headers["content-encoding"]]).toEqual([200, coding]);
    expect(decode(rawPayload).toString()).toBe(SCRIPT);
    expect(headers).toMatchObject({
      "content-type": expect.stringMatching(/^(text|application)\/javascript/),
      "cache-control": "public, max-age=31536000, immutable",
      "x-content-type-options": "nosniff",
      vary: expect.stringMatching(/accept-encoding/i),
    });
  });

  it.each([
    "/assets/",
    "/assets/none.js",
    "/assets/../secret.txt",
    "/assets/..%2fsecret.txt",
    "/assets/%2e%2e/secret.txt",
    "/assets/..%5csecret.txt",
    "/assets//etc/passwd",
    "/assets/%00",
  ])("is not served at %s", async (path) => {
    const { statusCode, headers, payload } = await get(path);
    expect(payload).not.toContain("beside");
    expect([statusCode, JSON.parse(payload)]).toEqual([
      404,
      { error_msg: expect.any(String), error: 404 },
    ]);
    expect(headers["cache-control"]).toBe("no-store");
  });
});

it("says how to build missing pages, and serves programs as before", async () => {
  await using bare = await startPages({ pagesFolder: `${folder}none/` });
  for (const path of ["//", "//calls"]) {
    const page = await bare.send({ path, as: null, headers: BROWSER });
    expect([page.status, page.headers["content-type"]]).toEqual([503, "text/plain; charset=utf-8"]);
    expect(page.text).toContain("npm run build");
  }
  expect((await bare.send({ path: "//", as: null })).body).toMatchObject({ name: "Sonde" });
  expect((await bare.send({ path: "//assets/index-abc123.js", as: null })).status).toBe(404);
  const unknown = await bare.send({ path: "//nowhere", as: null, headers: BROWSER });
  expect([unknown.status, unknown.body]).toMatchObject([404, { error: 404 }]);
});
