// `sonde doctor` on healthy systems and on systems with planted faults, each of which it names. The
// services are real processes; it changes nothing of theirs.
import { createHash } from "node:crypto";
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sql } from "kysely";
import { expect, inject, it } from "vitest";
import { openSpoolFile } from "../../src/agent/reporting/spool-file.ts";
import { runCommand } from "../../src/commands/command-line.ts";
import { DoctorReportSchema } from "../../src/doctor/finding.ts";
import type { DoctorReport, State } from "../../src/doctor/finding.ts";
import { createValidator } from "../../src/model/validate.ts";
import { locationKeyOf } from "../../src/runtime/derived-keys.ts";
import { openPostgres } from "../../src/store/postgres/postgres.ts";
import { freePort } from "../support/free-port.ts";
import { natsAccounts } from "../support/nats-accounts.ts";
import { startNatsServer } from "../support/nats-server.ts";
import { createDatabase } from "../support/postgres.ts";
import { makeFolder, runSonde, startSonde } from "../support/process.ts";
import { migratedPostgres } from "../support/stores.ts";
import { until } from "../support/until.ts";
import { aTick, connectTo } from "../bus/buses.ts";

type Settings = Readonly<Record<string, string>>;

const MASTER_KEY = "5a".repeat(32);
const LOCATION_KEY = Buffer.from(locationKeyOf(Buffer.from(MASTER_KEY, "hex"), "paris")).toString(
  "base64",
);
const HUB = "api,scheduler,aggregator";
const report = createValidator(DoctorReportSchema);
/** Checks of the machine itself, which these tests ignore. */
const MACHINE = ["disk", "names"];

async function examine(settings: Settings): Promise<DoctorReport & { readonly code: number }> {
  let printed = "";
  const print = (text: string): void => void (printed += text);
  const code = await runCommand(["doctor", "--json"], settings, print);
  return { ...report.parse(JSON.parse(printed)), code };
}

const found = ({ findings }: DoctorReport, ...states: State[]): string[] =>
  findings
    .filter(({ check, state }) => states.includes(state) && !MACHINE.includes(check))
    .map(({ check, state, finding, advice }) => `${check} ${state}: ${finding} → ${advice}`);

/** An examination reaches every server, and takes a tenth of a second of a processor. */
const EXAMINE_EVERY_MS = 500;

const untilHealthy = (settings: Settings): Promise<void> =>
  until(async () => {
    expect(found(await examine(settings), "warning", "failure")).toEqual([]);
  }, EXAMINE_EVERY_MS);

/** Expects a matching finding for each fault, and returns the report. */
async function expectFaults(
  settings: Settings,
  faults: Readonly<Record<string, RegExp>>,
): Promise<DoctorReport> {
  const examined = await examine(settings);
  const all = found(examined, "warning", "failure");
  for (const [what, fault] of Object.entries(faults))
    expect(all, what).toContainEqual(expect.stringMatching(fault));
  for (const each of all) expect(each).toMatch(/ → \w/);
  const failed = examined.findings.some(({ state }) => state === "failure");
  expect(examined.code).toBe(failed ? 2 : 1);
  return examined;
}

/** Returns the files of a folder: names, permissions, modification times and contents. */
const filesIn = (folder: string) =>
  readdirSync(folder)
    .toSorted()
    .map((name) => {
      const { mode, mtimeMs, size } = statSync(join(folder, name));
      const content = createHash("sha256").update(readFileSync(join(folder, name)));
      return { name, mode, mtimeMs, size, content: content.digest("hex") };
    });

it("reports a running demo as healthy, and names its faults afterwards", async () => {
  using folder = makeFolder();
  const settings = {
    SONDE_DATA_DIR: folder.dataDir,
    SONDE_OPS_PORT: String(await freePort()),
  };
  {
    await using sonde = startSonde(["serve", "--demo"], { folder: folder.path, env: settings });
    await sonde.ready();
    await untilHealthy(settings);
    const text = await runSonde(["doctor"], { folder: folder.path, env: settings });
    expect(text).toMatchObject({ code: 0, stderr: "" });
    expect(text.stdout).toMatch(
      /^ok +ledger +(No run was|The run|Each of the \d+ runs) due in the \d+ slots/m,
    );
    expect(text.stdout).toMatch(/^All is well\.$/m);
    await until(() => expect(countNew(join(folder.dataDir, "sonde.db"))).toBe(0));
    await sonde.stop();
  }

  const before = filesIn(folder.dataDir);
  await expectFaults(settings, {
    "no process": /^process failure: no answer from http:.*ECONNREFUSED.*→ start `sonde serve`/,
    "no scheduler": /^scheduler failure: no scheduler leads/,
    "no agent":
      /^agents failure: location local has \d+ deployments and no agent that accepts runs.*→ start `sonde serve`/,
    "an agent that was stopped": /^agents warning: agent agent-\w+ at local was stopped/,
  });
  expect(filesIn(folder.dataDir)).toEqual(before);

  chmodSync(folder.dataDir, 0o755);
  writeFileSync(join(folder.dataDir, "master-key"), Buffer.alloc(32, 7).toString("base64"));
  chmodSync(join(folder.dataDir, "master-key"), 0o644);
  backdateSchedule(join(folder.dataDir, "sonde.db"));
  const opened = { ...settings, SONDE_EGRESS_ALLOW: "0.0.0.0/0,169.254.169.254" };
  await expectFaults(opened, {
    "an open folder": /^data folder warning: other users .* \(mode 0755; allowed: 0700\)/,
    "a key that others may read":
      /^data folder failure: .*master-key.*\(mode 0644; allowed: 0600\) → chmod 0600/,
    "the wrong master key":
      /^master key failure: the database is encrypted with the master key \w+, and this process has \w+ → set SONDE_MASTER_KEY/,
    "lost outcomes":
      /^ledger failure: 60 of \d+ runs due .* have neither an outcome nor a pending run, for example that of deployment \w{26}/,
    "open egress":
      /^egress warning: SONDE_EGRESS_ALLOW opens every private address \(0\.0\.0\.0\/0\)/,
    "a metadata address":
      /^egress warning: SONDE_EGRESS_ALLOW opens 169\.254\.169\.254, where a cloud/,
  });

  const database = new DatabaseSync(join(folder.dataDir, "sonde.db"));
  database.exec("insert into kysely_migration values ('9999-later', '2026-01-01')");
  database.close();
  await expectFaults(settings, {
    "a newer schema": /^migrations failure: the database has schema 9999-later, from a newer Sonde/,
  });
}, 120_000);

it("says that a data folder is a file", async () => {
  using folder = makeFolder();
  const file = join(folder.path, "file");
  writeFileSync(file, "");
  await expectFaults(
    { SONDE_DATA_DIR: file, SONDE_OPS_PORT: String(await freePort()) },
    { "a file": /^data folder failure: the data folder .*file is not a folder → remove it, or/ },
  );
});

/** How many deployments wait for the scheduler to order their first runs. */
function countNew(file: string): unknown {
  const database = new DatabaseSync(file, { readOnly: true });
  const row = database.prepare("select count(*) as count from new_schedules").get();
  database.close();
  return row?.["count"];
}

/** Backdates a deployment by an hour, so that the ledger lacks an hour of its runs. */
function backdateSchedule(file: string): void {
  const database = new DatabaseSync(file);
  database.exec(`update schedules set active_from = active_from - 3600000
    where deployment_id = (select min(deployment_id) from schedules)`);
  database.close();
}

it("reports a split system as healthy, on the hub and on an agent's machine", async () => {
  await using stack = new AsyncDisposableStack();
  const accounts = natsAccounts(["paris"]);
  const nats = stack.use(await startNatsServer({ config: accounts.config }));
  const databaseUrl = await migratedPostgres();
  const [hubFolder, agentFolder] = [stack.use(makeFolder()), stack.use(makeFolder())];
  const hub = {
    SONDE_DATA_DIR: hubFolder.dataDir,
    SONDE_OPS_PORT: String(await freePort()),
    SONDE_ROLES: HUB,
    SONDE_DATABASE_URL: databaseUrl,
    SONDE_MASTER_KEY: MASTER_KEY,
    SONDE_NATS_URL: nats.url,
    SONDE_NATS_NKEY: accounts.hubSeed,
    SONDE_LOCATION: "paris",
  };
  const agent = {
    SONDE_DATA_DIR: agentFolder.dataDir,
    SONDE_OPS_PORT: String(await freePort()),
    SONDE_ROLES: "agent",
    SONDE_NATS_URL: nats.url,
    SONDE_NATS_NKEY: accounts.seedOf("paris"),
    SONDE_LOCATION: "paris",
    SONDE_LOCATION_KEY: LOCATION_KEY,
  };
  const running = [
    stack.use(startSonde(["serve"], { folder: hubFolder.path, env: hub })),
    stack.use(startSonde(["serve"], { folder: agentFolder.path, env: agent })),
  ];
  await Promise.all(running.map((each) => each.ready()));
  for (const settings of [hub, agent]) await untilHealthy(settings);
  const onAgent = await until(async () => {
    const lines = found(await examine(agent), "ok", "skipped");
    const rightClock = /^clocks ok: this machine's clock agrees with the hub's/;
    expect(lines).toContainEqual(expect.stringMatching(rightClock)); // once the hub has answered
    return lines;
  }, EXAMINE_EVERY_MS);
  for (const line of [
    /^permissions ok: the NATS user reaches the subjects of location paris and no others/,
    /^streams ok: 0 messages of ticks of location paris wait/,
    /^database skipped: does not apply: a machine that runs only agents has no database/,
    /^uplink ok: the uplink hosts answer \(127\.0\.0\.1:/,
  ])
    expect(onAgent).toContainEqual(expect.stringMatching(line));

  await Promise.all(running.map((each) => each.stop()));
  const before = await rowsOf(databaseUrl);
  const stored = filesIn(hubFolder.dataDir);
  await examine(hub);
  await examine(agent);
  expect(await rowsOf(databaseUrl)).toEqual(before);
  expect(filesIn(hubFolder.dataDir)).toEqual(stored);

  await expectFaults(
    { ...agent, SONDE_NATS_NKEY: natsAccounts(["rome"]).seedOf("rome") },
    { "an unknown user": /^nats failure: NATS at \S+ refused the nkey U\w+ of SONDE_NATS_NKEY/ },
  );
}, 120_000);

/** Returns the rows of the tables that a running process changes. */
async function rowsOf(url: string): Promise<unknown> {
  await using kysely = openPostgres({ url }).kysely;
  const tables = ["leases", "agents", "locations", "api_keys", "master_keys", "audit"];
  return await Promise.all(
    tables.map(async (table) => {
      const rows = sql<object>`select * from ${sql.table(table)} order by 1`;
      return (await rows.execute(kysely)).rows;
    }),
  );
}

it("names every invalid setting, and checks everything else", async () => {
  using folder = makeFolder();
  const { findings } = await expectFaults(
    {
      SONDE_DATA_DIR: folder.dataDir,
      SONDE_PORT: "http",
      SONDE_OPS_PORT: String(await freePort()),
      SONDE_DATABASE_URL: "mysql://secret@db",
      SONDE_LOKATION: "paris",
    },
    {
      "a port": /^settings failure: SONDE_PORT: 'http' is not a port/,
      "a secret": /^settings failure: SONDE_DATABASE_URL: the value given is not a postgres:/,
      "a misspelt name":
        /^settings failure: SONDE_LOKATION is not a setting: did you mean SONDE_LOCATION\?/,
      "no process": /^process failure: no answer/,
    },
  );
  expect(findings).toContainEqual({
    check: "database",
    state: "skipped",
    finding: "not checked, because SONDE_DATABASE_URL has no valid value",
    advice: null,
  });
  expect(JSON.stringify(findings)).not.toContain("secret@");
});

it("names what is wrong with the servers of a hub", async () => {
  await using stack = new AsyncDisposableStack();
  const { dataDir } = stack.use(makeFolder());
  const base = {
    SONDE_DATA_DIR: dataDir,
    SONDE_OPS_PORT: String(await freePort()),
    SONDE_ROLES: HUB,
    SONDE_MASTER_KEY: MASTER_KEY,
  };
  const [closed, plain] = [
    await freePort(),
    stack.use(await startNatsServer({ jetstream: false })),
  ];
  const empty = await createDatabase(inject("postgresUrl"));
  const missing = new URL(empty);
  missing.pathname = "/nothing";
  await expectFaults(
    { ...base, SONDE_DATABASE_URL: empty, SONDE_NATS_URL: plain.url },
    {
      "an empty database":
        /^migrations failure: the database has no schema, and Sonde \S+ needs \d{4}-.*→ run `sonde migrate`/,
      "JetStream is off":
        /^streams failure: NATS at \S+ does not offer JetStream .*→ start nats-server with -js/,
    },
  );
  await expectFaults(
    { ...base, SONDE_DATABASE_URL: missing.href, SONDE_NATS_URL: `nats://127.0.0.1:${closed}` },
    {
      "a missing database":
        /^database failure: PostgreSQL at \S+ refuses the connection \(database "nothing" does not exist\) → correct SONDE_DATABASE_URL/,
      "NATS is down":
        /^nats failure: cannot reach NATS at nats:\/\/127\.0\.0\.1:\d+ .*→ start nats-server/,
    },
  );

  const nats = stack.use(await startNatsServer());
  const streams = { ...base, SONDE_DATABASE_URL: empty, SONDE_NATS_URL: nats.url };
  await expectFaults(streams, {
    "missing streams": /^streams failure: the stream SONDE_TICKS is missing/,
  });
  const bus = stack.use(
    await connectTo(nats.url, { streams: { ticksMiB: 1, resultsMiB: 1, replicas: 1 } }),
  );
  const tick = aTick({ location_id: "paris" });
  const context = { padding: "x".repeat(920 * 1024) };
  await bus.publishTicks([{ ...tick, context }]);
  await expectFaults(
    { ...streams, SONDE_NATS_TICKS_MIB: "1", SONDE_NATS_REPLICAS: "3" },
    {
      "a stream that is nearly full":
        /^streams (?:warning|failure): the stream SONDE_TICKS holds 1 message, \d+ KiB: 9\d % of its limit of 1 MiB \(allowed: 80 %\) → .*SONDE_NATS_TICKS_MIB/,
      "too few replicas":
        /^streams warning: 1 server keeps the stream SONDE_TICKS \(asked for: 3, and the server is in no cluster\)/,
      "another limit":
        /^streams warning: the stream SONDE_RESULTS has the limit 1 MiB, and SONDE_NATS_RESULTS_MIB asks for 1 GiB/,
    },
  );
});

it("names what is wrong on an agent's machine", async () => {
  await using stack = new AsyncDisposableStack();
  const { path: dataDir } = stack.use(makeFolder());
  const nats = stack.use(await startNatsServer());
  const spool = openSpoolFile(join(dataDir, "spool.db"), "paris");
  const row = { run_id: "run", location_id: "paris", due_time: 0, report: Buffer.from("{}") };
  spool.insert([row], 1_000_000);
  spool.close();
  const before = filesIn(dataDir);
  await expectFaults(
    {
      SONDE_DATA_DIR: dataDir,
      SONDE_OPS_PORT: String(await freePort()),
      SONDE_ROLES: "agent",
      SONDE_LOCATION: "paris",
      SONDE_LOCATION_KEY: LOCATION_KEY,
      SONDE_NATS_URL: nats.url,
      // Unroutable.
      SONDE_UPLINK_CHECK: "224.0.0.1:1",
    },
    {
      "no consumer":
        /^streams failure: the hub has not created the tick consumer of location paris/,
      "foreign subjects":
        /^permissions warning: the NATS user of this process may use the subjects sonde\.ticks\.\*, .*→ give each location its own credentials/,
      "a spool that holds reports":
        /^spool warning: 1 report \(2 bytes\) waits in \S+spool\.db \(allowed: 0\)/,
      "a dead uplink": /^uplink failure: no uplink host answers \(224\.0\.0\.1:1: ENETUNREACH\)/,
    },
  );
  expect(filesIn(dataDir)).toEqual(before);
});
