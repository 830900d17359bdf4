// The commands over the API, as users see them, against one embedded service.
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createApi } from "../../src/client/api.ts";
import { runCommand } from "../../src/commands/command-line.ts";
import { periodStart } from "../../src/model/periods.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { createSealer } from "../../src/runtime/sealer.ts";
import { openStore } from "../../src/store/open-store.ts";
import type { Store } from "../../src/store/store.ts";
import { freePort } from "../support/free-port.ts";
import { storeInsight, WEEK_MS } from "../support/insights.ts";
import { MAIN, makeFolder, startSonde } from "../support/process.ts";
import type { SondeProcess } from "../support/process.ts";
import { startTarget } from "../support/target-server.ts";
import type { HttpTarget } from "../support/target-server.ts";

const WRONG_KEY = "0123456789abcdefghijABCDEFGHIJs3";
const bash = promisify(execFile);

let target: HttpTarget;
let service: SondeProcess;
let url: string;
let key: string;

beforeAll(async () => {
  target = await startTarget((request, response) => {
    response.statusCode = Number(/^\/(\d+)$/.exec(request.url ?? "")?.[1] ?? 200);
    response.end("ok");
  });
  service = startSonde(["serve"], { env: { SONDE_EGRESS_ALLOW: target.authority } });
  url = await service.api();
  await service.ready();
  key = readFileSync(join(service.dataDir, "owner-key"), "utf8").trim();
  await sonde("calls", "create", "--name", "Demo: slow", "--url", `${target.url}/200`);
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await target[Symbol.asyncDispose]();
});

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the program as a user on the service's machine, unless the settings say otherwise. */
async function sondeWith(settings: Record<string, string>, ...args: string[]): Promise<Ran> {
  let [stdout, stderr] = ["", ""];
  const spy = vi
    .spyOn(process.stderr, "write")
    .mockImplementation((text) => ((stderr += String(text)), true));
  try {
    const environment = { SONDE_DATA_DIR: service.dataDir, SONDE_API_URL: url, ...settings };
    const code = await runCommand(args, environment, (text) => void (stdout += text));
    return { code, stdout, stderr };
  } finally {
    spy.mockRestore();
  }
}
const sonde = (...args: string[]): Promise<Ran> => sondeWith({}, ...args);

/** Opens the database of the running service, but no secrets. */
const openBeside = (): Promise<Store> =>
  openStore({
    location: { file: join(service.dataDir, "sonde.db") },
    clock: systemClock,
    sealer: createSealer({ current: randomBytes(32) }),
    usesSecrets: false,
  });

/** The environment of a shell that starts the program. */
const settings = () => ({
  PATH: process.env["PATH"],
  NODE: process.execPath,
  MAIN,
  SONDE_API_URL: url,
  SONDE_API_KEY: key,
});

describe("a call", () => {
  it("is created, read, changed and deleted by its name", async () => {
    const flags = ["--url", `${target.url}/200`, "--header", "Accept: text/plain"];
    const made = await sonde(
      "calls",
      "create",
      "--name",
      "One",
      ...flags,
      "--tag",
      "a",
      "--tag",
      "b",
    );
    expect(made.stdout).toMatch(/^created call [0-9a-z]{26} \(One\)\n$/);
    const get = async () => JSON.parse((await sonde("calls", "get", "one", "--json")).stdout);
    const before = await get();
    expect(before).toMatchObject({
      meta: { name: "One", tags: ["a", "b"] },
      request: { method: "GET", headers: [{ key: "Accept", value: "text/plain" }] },
    });
    await sonde("calls", "update", "One", "--method", "post", "--body", "x");
    expect(await get()).toMatchObject({
      meta: { name: "One", tags: ["a", "b"] },
      request: { ...before.request, method: "POST", body: "x" },
    });
    expect((await sonde("calls", "get", before.id)).stdout).toMatch(/^request\.method +POST$/m);
    await expect(sonde("calls", "delete", "One", "nope")).rejects.toThrow("'nope'");
    expect((await sonde("calls", "delete", "One")).stdout).toMatch(/^deleted call \w+ \(One\)\n$/);
    await expect(sonde("calls", "get", before.id)).rejects.toThrow("no call has the id or name");
  });

  it("is created from a file, which options override", async () => {
    using folder = makeFolder();
    const file = join(folder.path, "call.json");
    const { stdout } = await sonde("calls", "get", "Demo: slow", "--json");
    writeFileSync(file, stdout);
    await sonde("calls", "create", "--file", file, "--name", "Copy");
    const copy = JSON.parse((await sonde("calls", "get", "Copy", "--json")).stdout);
    expect(copy.request).toEqual(JSON.parse(stdout).request);
    await sonde("calls", "delete", "Copy");
    writeFileSync(file, "[]");
    await expect(sonde("calls", "create", "--file", file)).rejects.toThrow("is not a JSON object");
    await expect(sonde("calls", "create", "--file", "nope.json")).rejects.toThrow(
      "--file: cannot read 'nope.json' (ENOENT)",
    );
  });

  it("keeps the spaces of a parameter's value, but not those around a header's", async () => {
    const pairs = ["--header", "X-A:  a ", "--parameter", "q= a "];
    await sonde("calls", "create", "--name", "Pairs", "--url", `${target.url}/200`, ...pairs);
    const { request } = JSON.parse((await sonde("calls", "get", "Pairs", "--json")).stdout);
    expect(request.headers).toEqual([{ key: "X-A", value: "a" }]);
    expect(request.parameters).toEqual([{ key: "q", value: " a " }]);
    await sonde("calls", "delete", "Pairs");
  });

  it("is found by its exact name, if that is unique", async () => {
    for (const n of [1, 2])
      await sonde("calls", "create", "--name", "Twin", "--url", `${target.url}/${n}00`);
    await expect(sonde("run", "Twin")).rejects.toThrow(
      /^'Twin' matches several: 'Twin' \(call \w+\), 'Twin' \(call \w+\); give an id$/,
    );
    await expect(sonde("calls", "get", "win")).rejects.toThrow(
      /^no call has the id or name 'win': did you mean 'Twin' \(call \w+\), /,
    );
    const { stdout } = await sonde("calls", "list", "--json");
    const twins = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    const ids = twins.filter(({ meta }) => meta.name === "Twin").map(({ id }) => id as string);
    await sonde("calls", "delete", ...ids);
  });

  it("is found by a name that is also a path of the interface", async () => {
    await sonde("calls", "create", "--name", "overview", "--url", `${target.url}/200`);
    expect((await sonde("calls", "get", "overview")).stdout).toMatch(/^meta\.name +overview$/m);
    expect((await sonde("run", "overview", "--wait")).code).toBe(0);
    expect((await sonde("calls", "delete", "overview")).stdout).toContain("(overview)");
  });
});

it("a setting keeps its domain in a change that does not give it", async () => {
  using folder = makeFolder();
  const file = join(folder.path, "auth.json");
  writeFileSync(
    file,
    '{"meta": {"domain": "shop.example"}, "settings": {"auth_type": "BASIC"}, "keys": {"client_id": "me"}}',
  );
  await sonde("auth", "create", "--file", file, "--name", "Shop");
  const get = async () => JSON.parse((await sonde("auth", "get", "Shop", "--json")).stdout);
  await sonde("auth", "update", "Shop", "--description", "test");
  expect(await get()).toMatchObject({
    meta: { name: "Shop", domain: "shop.example", description: "test" },
    keys: { client_id: "me" },
  });
  writeFileSync(file, '{"meta": {"domain": "pay.example"}}');
  await sonde("auth", "update", "Shop", "--file", file);
  expect((await get()).meta.domain).toBe("pay.example");
});

it("an empty option clears the setting of a call", async () => {
  using folder = makeFolder();
  const file = join(folder.path, "auth.json");
  writeFileSync(file, '{"meta": {"domain": "pay.example"}, "settings": {"auth_type": "MANUAL"}}');
  await sonde("auth", "create", "--file", file, "--name", "Pay");
  await sonde("calls", "create", "--name", "Pay", "--url", "https://pay.example/", "--auth", "Pay");
  const get = async () => JSON.parse((await sonde("calls", "get", "Pay", "--json")).stdout);
  expect(await get()).toMatchObject({ request: { auth_id: expect.stringMatching(/^\w{26}$/) } });
  await sonde("calls", "update", "Pay", "--auth", "");
  expect(await get()).toMatchObject({ request: { auth_id: null } });
});

describe("a list", () => {
  it("is a table for people and a line per object for programs, up to its limit", async () => {
    const names = ["List 1", "List 2", "List 3"];
    for (const name of names)
      await sonde("calls", "create", "--name", name, "--url", `${target.url}/200`, "--tag", "list");
    const two = await sonde("calls", "list", "--tag", "list", "--limit", "2");
    expect(two.stdout).toMatch(
      /^ID +NAME +METHOD +URL +TAGS\n\w{26} {2}List 1 .*\n.* List 2 .*\n$/,
    );
    expect(two.stderr).toBe("there are more calls: raise --limit to see them\n");
    const all = await sonde("calls", "list", "--tag", "list", "--json");
    const lines = all.stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect([lines.map(({ meta }) => meta.name), all.stderr]).toEqual([names, ""]);
    const paged = [];
    const api = createApi({ url, key, keyFrom: "a test" });
    for await (const { id } of api.list("/calls/", {}, { limit: 1 })) paged.push(id);
    expect(paged).toEqual(expect.arrayContaining(lines.map(({ id }) => id)));
    await sonde("calls", "delete", ...names);
    const none = await sonde("calls", "list", "--tag", "list");
    expect([none.stdout, none.stderr]).toEqual(["", "no calls\n"]);
  });

  it("refuses filters that it cannot combine", async () => {
    await expect(sonde("calls", "list", "--auth", "x", "--domain", "y")).rejects.toThrow(
      "--domain <host> and --auth <setting> cannot be combined",
    );
    await expect(sonde("deployments", "list", "--call", "x", "--workflow", "y")).rejects.toThrow(
      "--call <call> and --workflow <workflow> cannot be combined",
    );
    const { stderr } = await sonde("calls", "list", "--domain", "y", "--tag", "z");
    expect(stderr).toBe("no calls\n");
  });

  it("shows no score for a call made too seldom, and the score of any other", async () => {
    const start = periodStart("WEEK", Date.now() - 2 * WEEK_MS);
    const store = await openBeside();
    for (const [name, passed] of Object.entries({ Often: 24, Seldom: 23 })) {
      await sonde("calls", "create", "--name", name, "--url", `${target.url}/200`);
      const call = JSON.parse((await sonde("calls", "get", name, "--json")).stdout);
      const of = { owner: call.meta.owner, org: null };
      await storeInsight(store, { call_id: call.id, start, of, passed });
    }
    await store.close();
    for (const list of ["rank", "list"]) {
      const { stdout } = await sonde("insights", list, "--weekly");
      expect(stdout).toMatch(/Often +999 +100\.00/);
      expect(stdout).toMatch(/Seldom +- +100\.00/);
    }
  });

  it("shows no measures of calls that were not made, or never passed", async () => {
    const start = periodStart("WEEK", Date.now() - 2 * WEEK_MS);
    const store = await openBeside();
    for (const [name, failed] of Object.entries({ Silent: 0, Broken: 30 })) {
      await sonde("calls", "create", "--name", name, "--url", `${target.url}/200`);
      const call = JSON.parse((await sonde("calls", "get", name, "--json")).stdout);
      const of = { owner: call.meta.owner, org: null };
      await storeInsight(store, { call_id: call.id, start, of, passed: 0, failed });
    }
    await store.close();
    const rank = await sonde("insights", "rank", "--weekly");
    expect(rank.stdout).toMatch(/Silent +- +- +- +- /);
    expect(rank.stdout).toMatch(/Broken +0 +0\.00 +- +- /);
    const list = await sonde("insights", "list", "--weekly");
    expect(list.stdout).toMatch(/Silent +- +- +- +-\n/);
    expect(list.stdout).toMatch(/Broken +0 +0\.00 +- +-\n/);
  });

  it("escapes control characters in names", async () => {
    const name = "\u001B[2J\u202Eevil\u009B1A";
    await sonde("calls", "create", "--name", name, "--url", `${target.url}/200`);
    const { id } = JSON.parse((await sonde("calls", "get", name, "--json")).stdout);
    const outputs = [
      await sonde("calls", "list"),
      await sonde("calls", "list", "--json"),
      await sonde("calls", "get", id),
      await sonde("run", id, "--wait"),
      await sonde("calls", "delete", id),
    ].map(({ stdout }) => stdout);
    for (const output of outputs) expect(output).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
    expect(outputs[4]).toContain(String.raw`(\u{1b}[2J\u{202e}evil\u{9b}1A)`);
  });
});

describe("sonde stats get", () => {
  it("refuses an end of the periods beside their start", async () => {
    const times = ["--time", "2026-10-02", "--since", "2026-10-01"];
    await expect(sonde("stats", "get", "Demo: slow", ...times)).rejects.toThrow(
      /^--time: give either --time or --since, not both$/,
    );
  });
});

describe("sonde run", () => {
  it("shows a call's outcome, and exits with its code", async () => {
    const passed = await sonde("run", "Demo: slow", "--location", "local", "--wait");
    expect(passed.stdout).toMatch(
      /^PASS {2}COMPLETE {2}200 OK\nGET http:.*\/200\nat local, .* UTC, from 127\.0\.0\.1, 2 bytes\n\n {2}DNS +-\n {2}TCP +[\d.]+ ms +█+\n[^]* {2}total +[\d.]+ ms/,
    );
    expect(passed.code).toBe(0);
    for (const [path, code] of [
      ["500", 1],
      ["404", 2],
    ] as const) {
      await sonde("calls", "update", "Demo: slow", "--url", `${target.url}/${path}`);
      const { code: given, stdout } = await sonde("calls", "run", "Demo: slow", "--wait", "--json");
      expect([given, JSON.parse(stdout).meta.http_code]).toEqual([code, Number(path)]);
    }
    await sonde("calls", "update", "Demo: slow", "--url", `${target.url}/200`);
    const list = await sonde("results", "list", "Demo: slow", "--category", "FAIL");
    expect(list.stdout).toMatch(/^ID +TIME .*\n(\w{26}) .* HTTP_SERVER_ERROR +500 /);
    const id = /^\w{26}/m.exec(list.stdout)?.[0] ?? "";
    expect((await sonde("results", "get", id)).stdout).toMatch(/^FAIL /);
    expect((await sonde("results", "get", id, "--body")).stdout).toBe("ok");
  });

  it("runs a workflow call by call", async () => {
    await sonde(
      "workflows",
      "create",
      "--name",
      "Twice",
      "--call",
      "Demo: slow",
      "--call",
      "demo: SLOW",
    );
    const { stdout, code } = await sonde("run", "Twice", "--wait");
    expect(stdout).toMatch(
      /^PASS {2}COMPLETE {2}workflow Twice\n2 calls, 2 passed, [^]*\n2\. PASS /,
    );
    expect(code).toBe(0);
  });

  it("waits in requests that no proxy cuts off", async () => {
    await using proxy = await startTarget((_request, response) => {
      const [last] = proxy.requests.slice(-1);
      void fetch(`${url}${last?.url}`, {
        method: last?.method ?? "",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        ...(last?.body && { body: last.body }),
      }).then(async (answer) => response.writeHead(answer.status).end(await answer.text()));
    });
    const through = { SONDE_API_URL: proxy.url, SONDE_API_KEY: key };
    const ran = await sondeWith(through, "run", "Demo: slow", "--wait", "--timeout", "100");
    expect(ran.code).toBe(0);
    const waits = proxy.requests.flatMap((one) => /wait=(\d+)/.exec(one.url)?.[1] ?? []);
    expect(waits).toEqual(["20"]);
  });
});

describe("a command without its service", () => {
  it("says in one line what is missing, and never the key", async () => {
    const nowhere = `http://127.0.0.1:${await freePort()}`;
    const refusals: [Record<string, string>, string[], RegExp][] = [
      [
        { SONDE_API_KEY: WRONG_KEY },
        ["calls", "list"],
        /^Unauthorized: .* does not accept the key of SONDE_API_KEY$/,
      ],
      [
        { SONDE_API_URL: nowhere },
        ["calls", "list"],
        /^no answer from http.* \(ECONNREFUSED\): start `sonde serve` there, or set SONDE_API_URL/,
      ],
      [
        { SONDE_API_URL: target.url },
        ["calls", "list"],
        /^http.* answered 200 with no content type instead of JSON: set SONDE_API_URL/,
      ],
      // The first key is valid for this machine only.
      [
        { SONDE_API_URL: "https://sonde.example" },
        ["calls", "list"],
        /^no API key for https:\/\/sonde\.example: set SONDE_API_KEY/,
      ],
      [
        { SONDE_DATA_DIR: "/nonexistent" },
        ["calls", "list"],
        /^no API key: set SONDE_API_KEY, .* or SONDE_DATA_DIR to the folder of the service \(cannot read the first key from \/nonexistent\/owner-key: ENOENT/,
      ],
      [
        {},
        ["calls", "create", "--name", "x"],
        /^'request\.url' is a required property \(HTTP 400\)$/,
      ],
      [{}, ["calls", "create"], /^no fields given: use --file, or --name, --method, /],
      [{}, ["results", "get", "nope"], /^Result not found \(HTTP 404\)$/],
    ];
    for (const [settings, args, message] of refusals) {
      const refused = await sondeWith(settings, ...args).then(
        String,
        (cause: Error) => cause.message,
      );
      expect(refused).toMatch(message);
      expect(refused).not.toMatch(new RegExp(`\n|${key}|${WRONG_KEY}`));
    }
  });

  it("passes on the API's refusal of a key that may not write", async () => {
    const { stdout } = await sonde("keys", "create", "--level", "VIEWER");
    const { api_key } = JSON.parse(stdout) as { readonly api_key: string };
    const viewer = { SONDE_API_KEY: api_key };
    expect((await sondeWith(viewer, "calls", "list")).code).toBe(0);
    await expect(
      sondeWith(viewer, "calls", "create", "--name", "x", "--url", target.url),
    ).rejects.toThrow(/VIEWER.* \(HTTP 403\)$/);
  });
});

it("works on the service's machine with nothing set but its port and data folder", async () => {
  const settings = { SONDE_DATA_DIR: service.dataDir, SONDE_PORT: new URL(url).port };
  let stdout = "";
  await runCommand(["calls", "list"], settings, (text) => void (stdout += text));
  expect(stdout).toContain("Demo: slow");
});

it("completes commands, options and values in bash", async () => {
  const script = `
    sonde() { "$NODE" "$MAIN" "$@"; }
    compopt() { :; }
    source <(sonde completion bash)
    complete -p sonde
    try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); __sonde_complete; echo "\${COMPREPLY[*]}"; }
    try sonde dep
    try sonde calls ""
    try sonde run --w
    try sonde keys create --level ""`;
  const env = { PATH: process.env["PATH"], NODE: process.execPath, MAIN };
  const { stdout } = await bash("bash", ["--norc", "-c", script], { env });
  expect(stdout.trimEnd().split("\n")).toEqual([
    "complete -F __sonde_complete sonde",
    "deployments",
    "list get create update run delete",
    "--wait",
    "VIEWER EDITOR OWNER",
  ]);
});

it("reads an object from a pipe that fills slowly", async () => {
  const made = '{"meta":{"name":"Piped"},"request":{"url":"https://shop.example/"}}';
  const script = `(sleep 1; echo '${made}') | "$NODE" "$MAIN" calls create --file -`;
  const { stdout } = await bash("bash", ["--norc", "-c", script], { env: settings() });
  expect(stdout).toMatch(/^created call \w+ \(Piped\)\n$/);
  await sonde("calls", "delete", "Piped");
});

it("prints a variable unchanged into a pipe, and escaped on a terminal", async () => {
  const hostile = "a\u001B]0;owned\u0007b";
  await sonde("env", "set", "staging", "HOST", hostile);
  expect((await sonde("env", "get", "staging", "HOST")).stdout).toBe(`${hostile}\n`);
  const script = `exec ${process.execPath} ${MAIN} env get staging HOST`;
  const { stdout } = await bash("script", ["-qec", script, "/dev/null"], { env: settings() });
  expect(stdout).toBe("a\\u{1b}]0;owned\\u{7}b\r\n");
  await sonde("env", "delete", "staging", "HOST");
  expect((await sonde("env", "list")).stderr).toBe("no workspaces\n");
});

// An empty shell variable, or a name that a URL would resolve, would address another resource.
it.each(["", ".", ".."])("takes '%s' for no name", async (name) => {
  const message = `'${name}' is not an id or a name`;
  await expect(sonde("env", "get", "staging", name)).rejects.toThrow(message);
  await expect(sonde("env", "list", name)).rejects.toThrow(message);
  await expect(sonde("env", "set", "staging", name, "x")).rejects.toThrow(message);
  await expect(sonde("results", "get", name)).rejects.toThrow(message);
});

it("stops silently when its reader has gone", async () => {
  const script = 'set -o pipefail; "$NODE" "$MAIN" calls list --json | head -c 10; echo " $?"';
  const { stdout, stderr } = await bash("bash", ["--norc", "-c", script], { env: settings() });
  expect([stdout, stderr]).toEqual([expect.stringMatching(/^\{"id":"\w{3} 0\n$/), ""]);
});

it("completes when nobody reads its messages", async () => {
  using folder = makeFolder();
  const script = '"$NODE" "$MAIN" keys create 2> >(true)';
  const env = { ...settings(), SONDE_DATA_DIR: folder.dataDir };
  const { stdout } = await bash("bash", ["--norc", "-c", script], { env });
  expect(JSON.parse(stdout)).toHaveProperty("api_key");
});

it("does what docs/cli.md shows", async () => {
  const page = readFileSync("docs/cli.md", "utf8");
  const lines = [...page.matchAll(/^(?:\$ )?sonde (.*)$/gm)]
    .map(([, words = ""]) => words)
    .filter((words) => !/[|<]|\bsource\b/.test(words));
  expect(lines.length).toBeGreaterThan(10);
  const { stdout } = await sonde("run", "Demo: slow", "--wait", "--json");
  const result = JSON.parse(stdout) as { readonly id: string };
  for (const line of lines) {
    const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(
      ([, quoted, bare]) => quoted ?? bare ?? "",
    );
    const args = words.map((word) => (word === "ID" ? result.id : word));
    expect(await sonde(...args), line).toMatchObject({ code: 0 });
  }
});
