// `sonde serve`, and other commands running on the same data folder.
import { exec } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { slotOf } from "../../src/model/slots.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { openPostgres } from "../../src/store/postgres/postgres.ts";
import { freePort } from "../support/free-port.ts";
import { createDatabase } from "../support/postgres.ts";
import { startNatsServer } from "../support/nats-server.ts";
import { httpClient } from "../support/client.ts";
import type { Client } from "../support/client.ts";
import { MAIN, makeFolder, oneLine, runSonde, startSonde } from "../support/process.ts";
import type { SondeProcess, TestFolder } from "../support/process.ts";
import { migratedPostgres } from "../support/stores.ts";
import { startRawTarget, startTarget } from "../support/target-server.ts";
import type { HttpTarget } from "../support/target-server.ts";
import { until } from "../support/until.ts";

const KEY = "0123456789abcdefghijABCDEFGHIJ01";
/** Too short to be explained by a clock that was set back. */
const LEASE_LEFT_MS = 40_000;
const WEEK_MS = 7 * 86_400_000;
const SHOWN_KEY = /^ {2}([A-Za-z0-9]{32})$/m;

const statusOf = async (url: string, key: string): Promise<number> => {
  const response = await fetch(`${url}/api/2/calls/`, {
    headers: { authorization: `Bearer ${key}` },
  });
  return response.status;
};

/** Parses output of one JSON object per line. */
const printed = (stdout: string): Record<string, string>[] =>
  stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

describe("serve --demo", () => {
  it("shows the address, shows the key once, runs its calls immediately, is not touched by another process and resumes at the next start", async () => {
    using folder = await makeDemoFolder();
    let firstCalls: readonly ListedCall[];
    {
      await using sonde = startSonde(["serve", "--demo"], {
        folder: folder.path,
      });
      const api = await sonde.api();
      await greeting(sonde);
      const [, key = ""] = SHOWN_KEY.exec(sonde.stdout()) ?? [];
      expect(sonde.stdout()).toContain(`Sonde is at        ${api}/`);
      expect(sonde.stdout()).toContain(await sonde.ops());
      expect(keyFile(folder.dataDir)).toBe(key);
      for (const file of ["owner-key", "master-key", "sonde.db"])
        expect([file, modeOf(join(folder.dataDir, file))]).toEqual([file, 0o600]);
      const client = httpClient(api, key);
      await demoMade(folder, client);
      firstCalls = await callsOf(client);
      await until(async () => {
        for (const call of await callsOf(client)) {
          const results = await client.results(call.id);
          // The run of the next minute may already be queued.
          expect(results.some(({ meta }) => meta.result !== "QUEUED")).toBe(true);
        }
      });
      const agentId = readFileSync(join(folder.dataDir, "agent-id"), "utf8");
      const [first] = await client.ended(firstCalls[0]?.id ?? "");
      expect(first?.meta.agent_id).toBe(agentId);
      const started = await sonde.logged(({ msg }) => msg === "agent started");
      expect(started).toMatchObject({ agent_id: agentId, host: hostname() });
      // They work with a port and a data folder that are not the default ones.
      const [list = "", run = ""] = sonde.stdout().match(/^.*npm run .*$/gm) ?? [];
      expect(await paste(list)).toContain("Demo: slow");
      expect(await paste(run)).toMatch(/^PASS {2}COMPLETE/);
      const { port } = JSON.parse(demoFile(folder)) as { readonly port: number };
      await until(() => expect(sonde.stdout()).toContain(`http://127.0.0.1:${port}/`));
      const second = await runSonde(["serve", "--demo"], { folder: folder.path });
      expect([second.code, second.stderr]).toEqual([1, anotherAtWork(folder)]);
      expect(JSON.parse(demoFile(folder))).toMatchObject({ port });
      expect(await callsOf(client)).toEqual(firstCalls);
      expect(await sonde.stop()).toEqual({ code: 0, signal: null });
    }
    await using again = startSonde(["serve", "--demo"], {
      folder: folder.path,
    });
    const api = await again.api();
    await greeting(again);
    expect(again.stdout()).not.toMatch(SHOWN_KEY);
    expect(again.stdout()).toContain("The key is in");
    expect(await callsOf(httpClient(api, keyFile(folder.dataDir)))).toEqual(firstCalls);
  });

  it("shows the key and creates its calls before it honours a signal", async () => {
    using folder = await makeDemoFolder();
    await using sonde = startSonde(["serve", "--demo"], {
      folder: folder.path,
    });
    await sonde.logged(({ msg }) => msg === "started");
    sonde.signal("SIGINT");
    expect(await sonde.exited).toEqual({ code: 0, signal: null });
    expect(sonde.stdout()).toMatch(SHOWN_KEY);
    await expectWholeDemo(folder);
  });

  it("completes the calls of a killed start without showing the key again", async () => {
    using folder = await makeDemoFolder();
    {
      await using sonde = startSonde(["serve", "--demo"], {
        folder: folder.path,
        env: { SONDE_LOG_LEVEL: "debug" },
      });
      await sonde.logged(({ route, status }) => route === "/api/2/calls/" && status === 201);
      await sonde.kill9();
      expect(sonde.stdout()).toMatch(SHOWN_KEY);
    }
    await expectWholeDemo(folder);
  });

  it("starts nine weeks of history in an empty store, and stops cleanly", async () => {
    using folder = makeFolder();
    await using sonde = startSonde(["serve", "--demo"], { folder: folder.path });
    await until(() => expect(demoFile(folder)).toMatch(/"history":\d+/));
    const { history } = JSON.parse(demoFile(folder)) as { readonly history: number };
    const weeks = (systemClock.now() - history) / WEEK_MS;
    expect(weeks).toBeGreaterThanOrEqual(9);
    expect(weeks).toBeLessThan(9.01);
    expect(await sonde.stop()).toEqual({ code: 0, signal: null });
    expectCleanStop(sonde);
  });

  it("completes the history of a killed start, with its insights", async () => {
    using folder = await makeDemoFolder();
    const port = await freePort();
    // Goes back another week if it ends sooner than this process notices.
    let weeks = 1;
    do {
      weeks += 1;
      const history = slotOf(systemClock.now()) - weeks * WEEK_MS;
      writeFileSync(join(folder.dataDir, "demo.json"), JSON.stringify({ port, history }));
      const before = historyIn(folder)["results"] ?? 0;
      await using sonde = startSonde(["serve", "--demo"], { folder: folder.path });
      await until(() => expect(historyIn(folder)["results"]).toBeGreaterThan(before));
      await sonde.kill9();
      if (demoFile(folder).includes("history")) expect(sonde.stdout()).not.toMatch(HISTORY);
    } while (!demoFile(folder).includes("history"));
    await using again = startSonde(["serve", "--demo"], { folder: folder.path });
    await until(() => expect(again.stdout()).toMatch(HISTORY));
    expect(demoFile(folder)).not.toContain("history");
    const { pending, results, counted, reports } = historyIn(folder);
    expect([pending, counted]).toEqual([0, results]);
    expect(reports).toBeGreaterThanOrEqual(4);
    const series = 5 * 3;
    expect(results).toBeGreaterThanOrEqual(series * weeks * 168);
    expect(results).toBeLessThanOrEqual(series * (weeks * 168 + 1));
    expect(again.log().filter(({ level }) => level !== "info")).toEqual([]);
  });

  it("has no history in a store with calls", async () => {
    using folder = makeFolder();
    const options = { folder: folder.path, env: { SONDE_BOOTSTRAP_KEY: KEY } };
    {
      await using sonde = startSonde(["serve"], options);
      await httpClient(await sonde.api(), KEY).createCall("https://target.test/");
    }
    await using sonde = startSonde(["serve", "--demo"], options);
    const client = httpClient(await sonde.api(), KEY);
    await demoMade(folder, client);
    expect(demoFile(folder)).not.toContain("history");
    expect(await callsOf(client, "sonde-simulated")).toEqual([]);
  });

  it("explains what to do about the port of its target if another program uses it", async () => {
    await using taken = await startTarget();
    using folder = makeFolder();
    mkdirSync(folder.dataDir);
    writeFileSync(join(folder.dataDir, "demo.json"), JSON.stringify({ port: taken.port }));
    const { code, stderr } = await runSonde(["serve", "--demo"], { folder: folder.path });
    expect([code, oneLine(stderr)]).toEqual([
      1,
      `sonde: the demo target cannot listen on 127.0.0.1:${taken.port}: the port is in use; stop the program that uses it, or delete ${folder.dataDir}/demo.json and the demo's calls to start over`,
    ]);
  });

  it("explains how to recover from a damaged file", async () => {
    using folder = makeFolder();
    mkdirSync(folder.dataDir);
    writeFileSync(join(folder.dataDir, "demo.json"), "");
    const { code, stderr } = await runSonde(["serve", "--demo"], {
      folder: folder.path,
    });
    expect([code, stderr]).toEqual([
      1,
      `sonde: the demo's file is damaged: delete ${folder.dataDir}/demo.json and the demo's calls to start over\n`,
    ]);
  });
});

/** Runs a printed command in another terminal, and returns what it prints. */
async function paste(command: string): Promise<string> {
  const env = { PATH: process.env["PATH"], HOME: process.env["HOME"] };
  return (await promisify(exec)(command, { env, cwd: dirname(dirname(MAIN)) })).stdout;
}

/** Reserves a port for the demo, so that it is still free when the demo starts again. */
async function makeDemoFolder(): Promise<TestFolder> {
  const folder = makeFolder();
  mkdirSync(folder.dataDir);
  writeFileSync(join(folder.dataDir, "demo.json"), JSON.stringify({ port: await freePort() }));
  return folder;
}

/** Starts again, and expects one key, and each call, the workflow and their deployments once. */
async function expectWholeDemo(folder: TestFolder): Promise<void> {
  const { path, dataDir } = folder;
  await using sonde = startSonde(["serve", "--demo"], { folder: path });
  const client = httpClient(await sonde.api(), keyFile(dataDir));
  await demoMade(folder, client);
  const calls = await callsOf(client);
  const deployments = await client.send<{
    results: { deployment: { target_id: string } }[];
  }>("GET", "/deployments/");
  const workflows = await client.send<{ results: { id: string }[] }>("GET", "/workflows/");
  expect(workflows.results).toHaveLength(1);
  expect(deployments.results.map(({ deployment }) => deployment.target_id)).toEqual(
    [...calls, ...workflows.results].map(({ id }) => id),
  );
  expect(new Set(calls.map(({ meta }) => meta.name)).size).toBe(5);
  expect(calls).toHaveLength(5);
  const { stdout } = await runSonde(["keys", "list"], { folder: path });
  expect(printed(stdout).map(({ access_level }) => access_level)).toEqual(["OWNER"]);
}

/** Waits until seeding has finished. */
const demoMade = (folder: TestFolder, client: Client): Promise<void> =>
  until(async () => {
    expect(await callsOf(client)).toHaveLength(5);
    expect(demoFile(folder)).not.toContain("seeding");
  });

function expectCleanStop(sonde: SondeProcess): void {
  expect([sonde.stderr(), sonde.log().filter(({ level }) => level !== "info")]).toEqual(["", []]);
  expect(sonde.log().at(-1)?.msg).toBe("stopped");
}

const demoFile = ({ dataDir }: TestFolder): string =>
  readFileSync(join(dataDir, "demo.json"), "utf8");
const anotherAtWork = ({ dataDir }: TestFolder): string =>
  `sonde: another sonde serve is running in ${dataDir}: stop it, or give this one its own folder with SONDE_DATA_DIR\n`;
const keyFile = (dataDir: string): string =>
  readFileSync(join(dataDir, "owner-key"), "utf8").trimEnd();
const modeOf = (file: string): number => statSync(file).mode & 0o777;

const HISTORY = /weeks of simulated results/;

/** Counts the rows of the simulated calls: 0 results while there is no database. */
function historyIn({ dataDir }: TestFolder): Record<string, number> {
  const file = join(dataDir, "sonde.db");
  if (!existsSync(file)) return { results: 0 };
  using database = new DatabaseSync(file);
  return database
    .prepare(
      `select (select count(*) from pending_runs where location_id like 'sim-%') as pending,
        (select count(*) from results join names on names.id = agent
          where name = 'simulation') as results,
        (select sum(count) from stats join names as kinds on kinds.id = kind
          join names as places on places.id = location
          where kinds.name = 'MONTH' and places.name like 'sim-%') as counted,
        (select count(*) from insights where report_type = 1 and made > 490) as reports`,
    )
    .get() as Record<string, number>;
}

/** Waits for the printed greeting. */
const greeting = (sonde: SondeProcess): Promise<void> =>
  until(() => expect(sonde.stdout()).toMatch(/health, metrics {2}[^]+\n\n/));

interface ListedCall {
  readonly id: string;
  readonly meta: { readonly name: string; readonly tags: readonly string[] };
}

/** Returns the calls to the demo target, or those with another tag. */
async function callsOf(client: Client, tag = "sonde-demo"): Promise<readonly ListedCall[]> {
  const { results } = await client.send<{ results: ListedCall[] }>("GET", "/calls/");
  return results.filter(({ meta }) => meta.tags.includes(tag));
}

it("names the file of the first key only while the database accepts that key", async () => {
  using folder = makeFolder();
  const options = { folder: folder.path };
  const started = async (): Promise<string> => {
    await using sonde = startSonde(["serve"], options);
    await greeting(sonde);
    return sonde.stdout();
  };
  expect(await started()).toMatch(SHOWN_KEY);
  const file = join(folder.dataDir, "owner-key");
  const key = readFileSync(file);
  writeFileSync(file, `${KEY}\n`); // as if the database were restored from another one's backup
  expect(await started()).not.toContain("owner-key");
  writeFileSync(file, key);
  expect(await started()).toContain("owner-key");
  await runSonde(["keys", "revoke", "0-first-key"], options);
  expect(await started()).not.toContain("owner-key");
});

describe("while a process serves", { timeout: 120_000 }, () => {
  let target: HttpTarget;
  let folder: TestFolder;
  let sonde: SondeProcess;
  let api: string;
  let ops: string;
  let client: Client;
  beforeAll(async () => {
    [target, folder] = [await startTarget(), makeFolder()];
    await runSonde(["locations", "add", "rome"], { folder: folder.path });
    const env = {
      SONDE_BOOTSTRAP_KEY: KEY,
      SONDE_EGRESS_ALLOW: "127.0.0.0/8,::1",
      SONDE_OPS_HOST: "::1",
    };
    sonde = startSonde(["serve"], { folder: folder.path, env });
    await greeting(sonde);
    api = await sonde.api();
    client = httpClient(api, KEY);
    [, ops = ""] = /health, metrics +(\S+)\/readyz, \/metrics$/m.exec(sonde.stdout()) ?? [];
  });
  afterAll(async () => {
    await sonde[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
    await target[Symbol.asyncDispose]();
  });

  it("the printed address of the ops server opens, over IPv6 too", async () => {
    expect((await fetch(`${ops}/livez`)).status).toBe(200);
  });

  it("a location added before the first start does not replace the served one", async () => {
    const call = await client.createCall("https://target.test/");
    await client.deploy(call, { location_id: "local" });
    const { stdout } = await runSonde(["locations", "list"], { folder: folder.path });
    expect(printed(stdout).map(({ id }) => id)).toEqual(["rome", "local"]);
  });

  it("the embedded agent does not call Sonde's own ports, even at allowed addresses", async () => {
    const resultOf = async (url: string): Promise<string | undefined> => {
      const call = await client.createCall(url);
      await client.send("POST", `/calls/${call}/run?wait=10`, { location_id: "local" });
      const [result] = await client.results(call);
      return result?.meta.result;
    };
    expect([
      await resultOf(target.url),
      await resultOf(`${api}/docs`),
      await resultOf(`${ops}/livez`),
    ]).toEqual(["COMPLETE", "UNABLE_TO_RUN", "UNABLE_TO_RUN"]);
  });

  it("keys are issued and revoked with immediate effect, and locations are added", async () => {
    const command = async (...args: string[]): Promise<string> => {
      const { code, stdout, stderr } = await runSonde(args, {
        folder: folder.path,
      });
      expect([args, code, stderr]).toEqual([args, 0, ""]);
      return stdout;
    };

    const owner = ["--owner", "Ann's team", "--org", "acme"];
    const name = "Build server";
    const [issued] = printed(
      await command("keys", "create", "--level", "EDITOR", "--name", name, ...owner),
    );
    expect(issued).toEqual({
      id: expect.any(String),
      api_key: expect.stringMatching(/^[A-Za-z0-9]{32}$/),
      owner: "Ann's team",
      org: "acme",
      access_level: "EDITOR",
      name,
    });
    const { id = "", api_key = "" } = issued ?? {};
    expect(await statusOf(api, api_key)).toBe(200);
    const listed = await command("keys", "list");
    expect(printed(listed).map((key) => [key["id"], key["name"]])).toEqual([
      ["0-first-key", "First key"],
      [id, name],
    ]);
    expect(listed).not.toContain(api_key);

    const revoked = await runSonde(["keys", "revoke", id], { folder: folder.path });
    expect(revoked).toMatchObject({ code: 0, stdout: `key ${id} revoked\n` });
    expect(oneLine(revoked.stderr)).toBe(
      "it was the last key of this owner: their deployments do not run until they have another, `sonde keys create --level OWNER --owner 'Ann'\\''s team' --org acme`",
    );
    expect(await statusOf(api, api_key)).toBe(401);
    expect(await command("keys", "list")).not.toContain(id);

    const described = ["--label", "Paris, FR", "--region", "Europe"];
    const added = await command("locations", "add", "paris", ...described);
    expect(added).toMatch(/SONDE_LOCATION=paris\nSONDE_LOCATION_KEY=[\w+/]{43}=\n/);
    expect(await command("locations", "env", "paris")).toBe(
      await command("locations", "env", "paris"),
    );
    const keys = { key_version: 1, previous_key_until: null };
    expect(printed(await command("locations", "list"))).toEqual([
      { id: "rome", label: "rome", region: "", ...keys },
      { id: "local", label: "local", region: "", ...keys },
      { id: "paris", label: "Paris, FR", region: "Europe", ...keys },
    ]);
    const again = await runSonde(["locations", "add", "paris"], {
      folder: folder.path,
    });
    expect([again.code, again.stderr]).toEqual([
      1,
      "sonde: location 'paris' already exists; `sonde locations list` shows it\n",
    ]);
    expect(await command("migrate")).toBe("nothing to do: the database schema is up to date\n");
    const call = await client.createCall("https://target.test/");
    await client.deploy(call, { location_id: "paris" });
  });

  it("no other process serves its data folder or starts a demo there, and after a crash the next one schedules at once", async () => {
    using folder = makeFolder();
    const options = { folder: folder.path };
    await using first = startSonde(["serve"], options);
    await first.ready();
    for (const demo of [[], ["--demo"]]) {
      const { code, stderr } = await runSonde(["serve", ...demo], options);
      expect([code, stderr]).toEqual([1, anotherAtWork(folder)]);
    }
    expect(existsSync(join(folder.dataDir, "demo.json"))).toBe(false);
    await first.logged(({ msg }) => msg === "scheduler lease taken");
    await first.kill9();
    const expires_at = Date.now() + LEASE_LEFT_MS;
    using database = new DatabaseSync(join(folder.dataDir, "sonde.db"));
    database.prepare("update leases set expires_at = ?").run(expires_at);
    await using third = startSonde(["serve"], options);
    await third.logged(({ msg }) => msg === "scheduler lease taken");
    expect(Date.now()).toBeLessThan(expires_at);
  });
});

describe("a signal during startup", () => {
  it.each([
    ["SIGINT", "PostgreSQL", "SONDE_DATABASE_URL", "postgres://127.0.0.1:"],
    ["SIGTERM", "NATS", "SONDE_NATS_URL", "nats://127.0.0.1:"],
  ] as const)("%s ends it while it waits for %s", async (signal, _server, setting, url) => {
    const connected = Promise.withResolvers<void>();
    await using silent = await startRawTarget(() => connected.resolve());
    await using sonde = startSonde(["serve", "--demo"], {
      env: { [setting]: `${url}${silent.port}` },
    });
    await connected.promise;
    sonde.signal(signal);
    expect(await sonde.exited).toEqual({ code: 0, signal: null });
    expect(sonde.stderr()).toBe("");
    expect(sonde.log()).toMatchObject([{ msg: "stopped before startup completed", signal }]);
  });

  it("ends it while another process holds the schema lock", async () => {
    const databaseUrl = await createDatabase(inject("postgresUrl"));
    await using other = openPostgres({ url: databaseUrl }).kysely;
    await using sonde = startSonde(["serve"], {
      env: { SONDE_DATABASE_URL: databaseUrl },
    });
    await other.transaction().execute(async (transaction) => {
      await sql`create table kysely_migration_lock ()`.execute(transaction);
      await until(async () =>
        expect(
          await sql`select 1 from pg_stat_activity
              where datname = current_database() and wait_event_type = 'Lock'`.execute(other),
        ).toMatchObject({ rows: [{}] }),
      );
      sonde.signal("SIGTERM");
      expect(await sonde.exited).toEqual({ code: 0, signal: null });
    });
    expect(sonde.stderr()).toBe("");
  });
});

describe("a signal", () => {
  it("SIGINT, sent twice at once, ends it with exit code 0", async () => {
    await using sonde = startSonde(["serve"]);
    await sonde.ready();
    for (let sent = 0; sent < 2; sent += 1) sonde.signal("SIGINT");
    expect(await sonde.exited).toEqual({ code: 0, signal: null });
    expectCleanStop(sonde);
  });

  it("SIGHUP, of a closed terminal, ends it like SIGTERM", async () => {
    await using sonde = startSonde(["serve"]);
    await sonde.ready();
    sonde.signal("SIGHUP");
    expect(await sonde.exited).toEqual({ code: 0, signal: null });
    expectCleanStop(sonde);
  });

  it("a second SIGINT ends a slow stop immediately", async () => {
    await using target = await startTarget(() => undefined);
    await using sonde = startSonde(["serve"], {
      env: { SONDE_BOOTSTRAP_KEY: KEY, SONDE_EGRESS_ALLOW: target.authority },
    });
    await sonde.ready();
    const client = httpClient(await sonde.api(), KEY);
    const call = await client.createCall(target.url);
    await client.send("POST", `/calls/${call}/run`, {});
    await until(() => expect(target.requests).toHaveLength(1));
    const again = setInterval(() => sonde.signal("SIGINT"), 200);
    expect(await sonde.exited).toEqual({ code: 130, signal: null });
    clearInterval(again);
  });

  it("ends it when PostgreSQL no longer answers", async () => {
    const databaseUrl = await migratedPostgres();
    await using nats = await startNatsServer();
    await using sonde = startSonde(["serve", "--roles", "api"], {
      env: { SONDE_DATABASE_URL: databaseUrl, SONDE_NATS_URL: nats.url },
    });
    await sonde.ready();
    using _ = await silence(databaseUrl);
    expect(await sonde.stop()).toEqual({ code: 0, signal: null });
    expect(sonde.log().at(-1)?.msg).toBe("stopped");
  });

  it("lets calls in flight finish and records them, but starts no more, however often SIGTERM is sent", async () => {
    const answer = Promise.withResolvers<void>();
    await using target = await startTarget((_, response) => {
      void answer.promise.then(() => response.end("ok"));
    });
    using folder = makeFolder();
    const options = {
      folder: folder.path,
      env: { SONDE_BOOTSTRAP_KEY: KEY, SONDE_EGRESS_ALLOW: target.authority },
    };
    const calls: string[] = [];
    {
      await using sonde = startSonde(["serve"], options);
      await sonde.ready();
      const client = httpClient(await sonde.api(), KEY);
      for (let n = 0; n < 5; n += 1) calls.push(await client.createCall(`${target.url}/${n}`));
      for (const call of calls) await client.send("POST", `/calls/${call}/run`, {});
      await until(() => expect(target.requests).toHaveLength(5));
      const later = await client.createCall(`${target.url}/later`);
      await client.send("POST", `/calls/${later}/run`, { run_delay: 3 });
      sonde.signal("SIGTERM");
      await sonde.logged(({ msg }) => msg === "stopping");
      // By then the later run is due, and the second signal counts as new.
      await systemClock.pause(3000);
      sonde.signal("SIGTERM");
      answer.resolve();
      expect(await sonde.exited).toEqual({ code: 0, signal: null });
    }
    expect(target.requests.map(({ url }) => url)).not.toContain("/later");
    await using again = startSonde(["serve"], options);
    await again.ready();
    const client = httpClient(await again.api(), KEY);
    const results = await Promise.all(calls.map((call) => client.results(call)));
    expect(results.flat().map(({ meta }) => meta.result)).toEqual(calls.map(() => "COMPLETE"));
    expect(target.requests.filter(({ url }) => url !== "/later")).toHaveLength(5);
  });
});

/** Suspends every backend of the database until disposed; its connections stay open. */
async function silence(databaseUrl: string): Promise<Disposable> {
  await using database = openPostgres({ url: databaseUrl }).kysely;
  const { rows } = await sql<{ pid: number }>`
    select pid from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()
      and backend_type = 'client backend'
  `.execute(database);
  for (const { pid } of rows) process.kill(pid, "SIGSTOP");
  return {
    [Symbol.dispose]() {
      for (const { pid } of rows) process.kill(pid, "SIGCONT");
    },
  };
}
