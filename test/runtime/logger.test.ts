// What a log line holds, and that it holds no secret.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { captureLog } from "./log-lines.ts";

const MARKER = "marker-of-a-secret";
const SECRET_FIELDS = [
  "authorization",
  "Authorization",
  "cookie",
  "Cookie",
  "set-cookie",
  "x-api-key",
  "api_key",
  "access_token",
  "refresh_token",
  "token_secret",
  "client_secret",
  "password",
  "ssl_key",
  "body",
];
const places: readonly [string, (field: string) => object][] = [
  ["as a field of the line", (field) => ({ [field]: MARKER })],
  ["in an object", (field) => ({ request: { [field]: MARKER } })],
  ["two deep", (field) => ({ a: { b: { [field]: MARKER } } })],
  ["three deep", (field) => ({ a: { b: { c: { [field]: MARKER } } } })],
  ["in an array", (field) => ({ calls: [{ [field]: MARKER }] })],
  ["as an object itself", (field) => ({ a: { [field]: { value: MARKER } } })],
];

describe("a secret field", () => {
  it.each(
    SECRET_FIELDS.flatMap((field) =>
      places.map(([place, make]) => [field, place, make(field)] as const),
    ),
  )("%s is redacted %s", (_field, _place, fields) => {
    const { log, text } = captureLog();
    log.info(fields, "call finished");
    log.child(fields).info("call finished");
    expect(text()).not.toContain(MARKER);
    expect(text().match(/\[redacted\]/g)).toHaveLength(2);
  });
});

describe("a line", () => {
  it("is JSON with level in words, an ISO time, its fields and its message", () => {
    const { log, lines } = captureLog();
    log.info({ call_id: "c", latency_ms: 5 }, "call finished");
    expect(lines()).toEqual([
      {
        level: "info",
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string,
        call_id: "c",
        latency_ms: 5,
        msg: "call finished",
      },
    ]);
  });

  it("has an error under err, with its message and cause", () => {
    const { log, lines } = captureLog();
    const cause = new Error("connection refused");
    log.error({ err: new Error("no database", { cause }) }, "failed");
    expect(lines()[0]?.["err"]).toMatchObject({
      message: expect.stringContaining("no database") as string,
      stack: expect.stringContaining("connection refused") as string,
    });
  });

  it("names each cause of an error once, also where the error quotes it", () => {
    const { log, lines } = captureLog();
    const cause = new Error("timeout", { cause: new Error("terminated") });
    log.error({ err: new Error("no database: timeout", { cause }) }, "failed");
    expect(lines()[0]?.["err"]).toMatchObject({ message: "no database: timeout: terminated" });
  });

  it("leaves out what a library attached to an error", () => {
    const { log, lines } = captureLog();
    const client = { connectionParameters: { host: "db", user: MARKER } };
    log.error({ err: Object.assign(new Error("gone"), { code: "57P01", client }) }, "failed");
    expect(lines()[0]?.["err"]).toEqual({
      type: "Error",
      message: "gone",
      code: "57P01",
      stack: expect.any(String) as string,
    });
  });

  it("is left out below the level", () => {
    const { log, lines } = captureLog("warn");
    log.info("not this");
    log.warn("this");
    expect(lines().map((line) => line["msg"])).toEqual(["this"]);
  });
});

it("drops lines that a full disk does not accept, in a file, and still ends", () => {
  const folder = mkdtempSync(join(tmpdir(), "sonde-log-"));
  const file = join(folder, "log");
  const program = `
    const { openLog } = await import(${JSON.stringify(resolve("src/runtime/logger.ts"))});
    const { log } = await openLog({ level: "info", format: "json" });
    log.info("first");
    for (let line = 0; line < 100; line += 1) log.info("x".repeat(100));
    setTimeout(() => console.error("still working"), 100);`;
  // A limit on the size of files stands for the full disk.
  const script = 'ulimit -f 1; exec "$0" --input-type=module -e "$1" >"$2"';
  const args = ["-c", script, process.execPath, program, file];
  const { status, stderr } = spawnSync("bash", args, { encoding: "utf8", timeout: 10_000 });
  const written = readFileSync(file, "utf8");
  rmSync(folder, { recursive: true });
  expect([status, stderr]).toEqual([0, "still working\n"]);
  expect(written).toMatch(/^\{.*"msg":"first"\}\n/);
});
