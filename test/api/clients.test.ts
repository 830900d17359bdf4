// Runs the commands of docs/clients.md as they are, against a server started by this test.
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createCall, sharedApi } from "../support/api.ts";
import type { Json } from "../support/api.ts";

const api = sharedApi();
const page = readFileSync("docs/clients.md", "utf8");
/** The commands of the page in order, one entry per block. */
const blocks = [...page.matchAll(/```sh\n(.*?)```/gs)].map(([, commands]) => String(commands));

let home: string;
let output: string[];

/**
 * Runs all blocks in one shell, which stops at the first error, and prints a line for each answer.
 */
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "sonde-clients-"));
  mkdirSync(join(home, ".sonde"));
  writeFileSync(join(home, ".sonde", "owner-key"), api.ann.key);
  writeFileSync(join(home, ".curlrc"), 'write-out = "\\n"\n');
  await createCall(api);
  await api.api.start();
  const script = blocks.join("\n").replaceAll("http://127.0.0.1:8080", String(api.api.address()));
  const { stdout } = await promisify(execFile)(
    "bash",
    ["--norc", "-euo", "pipefail", "-c", script],
    {
      cwd: home,
      env: { PATH: process.env["PATH"], HOME: home },
    },
  );
  output = stdout.split("\n").filter((line) => line !== "");
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

it("gets the same answer with the key in any of three places", () => {
  const [bearer, header] = output;
  expect(bearer).toContain('"results":[{"id":');
  expect(header).toBe(bearer);
  // Pretty-printing spreads the third answer over several lines.
  const end = output.findIndex((line) => line.includes("api_key"));
  expect(JSON.parse(output.slice(2, end).join(""))).toEqual(JSON.parse(String(bearer)));
});

it("creates, changes, sends back, lists and deletes", () => {
  const start = output.findIndex((line) => line.includes('"api_key"'));
  const [key, changed, restored, none, calls, results, workflow, deleted] = output
    .slice(start)
    .map((line) => JSON.parse(line) as Json);
  expect(key).toMatchObject({ access_level: "EDITOR", api_key: expect.stringMatching(/^\w{32}$/) });
  expect(changed).toMatchObject({
    meta: { description: "changed", tags: ["timeout:10", "team:web"] },
  });
  expect(restored).toMatchObject({ id: changed?.["id"], meta: { description: null } });
  expect(none).toEqual({ meta: { more: false, next_cursor: "" }, results: [] });
  expect(calls?.["results"]).toHaveLength(2);
  expect(results?.["results"]).toEqual([]);
  expect(workflow).toMatchObject({
    meta: { name: "Order", tags: [] },
    workflow: { handle_cookies: true, call_ids: [changed?.["id"], changed?.["id"]] },
  });
  expect(deleted).toEqual({ status: "OK" });
  expect(output).toHaveLength(start + 8);
});

it("writes a client's configuration files, with the key readable only by its owner", () => {
  const folder = join(home, "apimetrics");
  const read = (name: string): Json => JSON.parse(readFileSync(join(folder, name), "utf8")) as Json;
  expect(read("config.json")).toEqual({ organization: {}, project: { current: "sonde" } });
  expect(read("auth.json")).toEqual({ mode: "device", token: api.ann.key });
  expect(statSync(join(folder, "auth.json")).mode & 0o777).toBe(0o600);
});

it("answers 404 to every path documented as such", async () => {
  const [, named] = /answered\s+with\s+404:\n\n```text\n(.*?)```/s.exec(page) ?? [];
  const { id } = await createCall(api);
  const paths = String(named).trim().split(/\s+/);
  expect(paths.length).toBeGreaterThan(8);
  for (const path of paths) {
    const answer = await api.send({ path: `/${path.replace("<id>", id)}` });
    expect([path, answer.status, answer.body["error_msg"]]).toEqual([path, 404, "Path not found"]);
  }
});
