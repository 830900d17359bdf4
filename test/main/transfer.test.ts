// `sonde transfer` to PostgreSQL, and dumps of PostgreSQL, as an operator uses them.
import { execFileSync } from "node:child_process";
import { appendFileSync, cpSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Migrator } from "kysely/migration";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { systemClock } from "../../src/runtime/clock.ts";
import { encodeTime } from "../../src/runtime/ids.ts";
import { MIGRATIONS } from "../../src/store/migrate.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import { TABLES } from "../../src/store/transfer/transfer-tables.ts";
import { caughtUp, makeDataFolder } from "../support/data-folder.ts";
import type { DataFolder } from "../support/data-folder.ts";
import { expectLedger, openDisposable } from "../support/deployments.ts";
import { createDatabase, startPostgres } from "../support/postgres.ts";
import { makeFolder, oneLine, runSonde, startSonde } from "../support/process.ts";
import { findPostgres } from "../support/programs.ts";
import { migratedPostgres } from "../support/stores.ts";
import { startTarget } from "../support/target-server.ts";
import type { HttpTarget } from "../support/target-server.ts";
import { until } from "../support/until.ts";

let target: HttpTarget;
let filled: DataFolder;
/** A call with five weeks of results. */
let call: string;

beforeAll(async () => {
  target = await startTarget((_, response) => void response.end("ok"));
  filled = await makeDataFolder(target.url);
  const simulated = rowsIn(join(filled.dataDir, "sonde.db"), "documents where owner = 'owner'");
  call = String(simulated[0]?.["id"]);
  const args = ["--from", "2020-01-01", "--to", "2100-01-01", "--call", call];
  const computed = await runSonde(["insights", "compute", ...args], { folder: filled.path });
  expect(computed).toMatchObject({ code: 0 });
});
afterAll(async () => {
  filled[Symbol.dispose]();
  await target[Symbol.asyncDispose]();
});

const newDatabase = () => createDatabase(inject("postgresUrl"));

/** Returns a folder with the same data. */
function copyOf({ path }: DataFolder) {
  const folder = makeFolder();
  cpSync(path, folder.path, { recursive: true });
  return folder;
}

type Rows = readonly Readonly<Record<string, unknown>>[];

async function rowsOf(url: string, table: string): Promise<Rows> {
  const client = new Client(url);
  await client.connect();
  try {
    return (await client.query<Rows[number]>(`select * from ${table}`)).rows;
  } finally {
    await client.end();
  }
}

function rowsIn(file: string, table: string): Rows {
  using database = new DatabaseSync(file, { readOnly: true });
  return database.prepare(`select * from ${table}`).all();
}

/** Makes the rows of both databases comparable: numbers as text, bytes in hex, in no order. */
const comparable = (rows: Rows): string[] =>
  rows
    .map((row) =>
      JSON.stringify(
        Object.entries(row)
          .map(([column, value]) => [
            column,
            value instanceof Uint8Array ? Buffer.from(value).toString("hex") : asText(value),
          ])
          .toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
      ),
    )
    .toSorted();

const asText = (value: unknown): unknown => (typeof value === "number" ? String(value) : value);

/** What a transfer changes. */
const CHANGED: Readonly<Record<string, Rows[number]>> = {
  leases: { holder: "", expires_at: 0 },
  pending_runs: { published: 0 },
};

describe("sonde transfer", { timeout: 120_000 }, () => {
  it("moves every row, and the service continues where it stopped", async () => {
    using folder = copyOf(filled);
    const file = join(folder.dataDir, "sonde.db");
    const url = await newDatabase();
    const { code, stdout, stderr } = await runSonde(["transfer", "--to", url], {
      folder: folder.path,
    });
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(
        /^(?:.+ left\n)*transferring 100 %, (\d+) of \1 rows, \d+ rows\/s\ncomparing both databases\n$/,
      ),
    ]);
    const empty: string[] = [];
    for (const table of TABLES) {
      const expected = rowsIn(file, table).map((row) => ({ ...row, ...CHANGED[table] }));
      expect(comparable(await rowsOf(url, table)), table).toEqual(comparable(expected));
      expect(stdout).toMatch(new RegExp(`^${table} +${expected.length}$`, "m"));
      if (expected.length === 0) empty.push(table);
    }
    // docs/backup.md leaves lines out.
    const table = new RegExp(
      String.raw`^ *TABLE +ROWS\n( *\S+( +\d+)?\n)+ *${TABLES.at(-1)} +\d+\n *\d+ rows`,
      "m",
    );
    for (const text of [stdout, readFileSync("docs/backup.md", "utf8")])
      expect(text).toMatch(table);
    expect(empty).toEqual(["agents", "document_calls", "opening_slots"]);
    expect(stdout.split("\n").slice(-4)).toEqual([
      expect.stringMatching(/^\d+ rows in \d+\.\d s, compared in both databases$/),
      `Start the service with SONDE_DATABASE_URL and the master key in ${folder.dataDir}/master-key (SONDE_MASTER_KEY_FILE).`,
      `${file} is unchanged: do not start the service on it again, and back up PostgreSQL instead.`,
      "",
    ]);
    const tables = await rowsOf(url, "pg_inherits join pg_class on oid = inhrelid");
    const days = tables.filter(({ relname }) => /^results_\d{8}$/.test(String(relname)));
    expect(days.length).toBeGreaterThanOrEqual(35);

    const again = await runSonde(["transfer", "--to", url], { folder: folder.path });
    expect(oneLine(again.stderr)).toMatch(/ is not empty \(.*\): name a new one$/);
    await expectServiceGoesOn(folder.path, url);
  });

  /** Starts the service with the master key in the folder. */
  async function expectServiceGoesOn(folder: string, url: string): Promise<void> {
    const env = { SONDE_DATABASE_URL: url, SONDE_EGRESS_ALLOW: target.authority };
    await using store = await openDisposable({ url });
    const sonde = startSonde(["serve"], { folder, env });
    await sonde.ready();
    await caughtUp(store, filled);
    await sonde.stop();
    await expectLedger(store, filled.schedules);
    const rebuilt = await runSonde(["stats", "rebuild"], { folder, env });
    expect(rebuilt).toMatchObject({ code: 0, stdout: "" });
  }

  it("says that a file of an older Sonde has a newer schema now", async () => {
    using folder = makeFolder();
    const file = join(folder.dataDir, "sonde.db");
    mkdirSync(folder.dataDir, { recursive: true });
    const names = Object.keys(MIGRATIONS);
    const earlier = Object.fromEntries(Object.entries(MIGRATIONS).slice(0, -1));
    const { kysely } = openSqlite({ path: file, clock: systemClock });
    const provider = { getMigrations: async () => earlier };
    expect(await new Migrator({ db: kysely, provider }).migrateToLatest()).not.toHaveProperty(
      "error",
    );
    await kysely.destroy();
    const url = await newDatabase();
    const { stdout } = await runSonde(["transfer", "--to", url], { folder: folder.path });
    expect(stdout.split("\n").at(-2)).toBe(
      `${file} has the same data, and now the schema ${names.at(-1)}: do not start the service on it again, and back up PostgreSQL instead.`,
    );
  });

  it("leaves PostgreSQL empty when killed, and another one succeeds", async () => {
    using folder = copyOf(filled);
    const options = { folder: folder.path };
    const url = await migratedPostgres();
    // Blocks the transfer in the middle of its transaction.
    const blocking = new Client(url);
    await blocking.connect();
    await blocking.query("begin; lock table stats in exclusive mode");
    const killed = startSonde(["transfer", "--to", url], options);
    const waits = "select 1 from pg_locks where not granted and relation = 'stats'::regclass";
    await until(async () => expect((await blocking.query(waits)).rows).toHaveLength(1));
    await killed.kill9();
    const waiting = startSonde(["transfer"], { ...options, env: { SONDE_DATABASE_URL: url } });
    await blocking.query("rollback");
    await blocking.end();
    expect((await waiting.exited).code).toBe(0);
    const ids = await rowsOf(url, "documents");
    expect(ids).toHaveLength(rowsIn(join(folder.dataDir, "sonde.db"), "documents").length);
  });

  it("writes nothing if a value does not fit", async () => {
    using folder = copyOf(filled);
    const url = await newDatabase();
    using database = new DatabaseSync(join(folder.dataDir, "sonde.db"));
    database.exec(
      "update results set redirects = 9999999999 where id = (select max(id) from results)",
    );
    const { code, stderr } = await runSonde(["transfer", "--to", url], { folder: folder.path });
    expect([code, stderr.split("\n").at(-2)]).toEqual([
      1,
      expect.stringMatching(
        /^sonde: results cannot be transferred \(.*out of range.*\); nothing was transferred$/,
      ),
    ]);
    expect(await rowsOf(url, "documents")).toEqual([]);
  });

  it("says what to raise if PostgreSQL cannot lock the tables of all days", async () => {
    using folder = copyOf(filled);
    using database = new DatabaseSync(join(folder.dataDir, "sonde.db"));
    const copy = database.prepare(`insert into result_details
      select ? || substr(result_id, 11), details, null from result_details limit 1`);
    for (let day = 1; day <= 400; day += 1) copy.run(encodeTime(day * 86_400_000));
    await using small = await startPostgres({
      configure: (data) =>
        appendFileSync(
          join(data, "postgresql.auto.conf"),
          "\nmax_locks_per_transaction = 10\nmax_connections = 10\n",
        ),
    });
    const { stderr } = await runSonde(["transfer", "--to", small.url], { folder: folder.path });
    expect(stderr.split("\n").at(-2)).toBe(
      `sonde: PostgreSQL at ${new URL(small.url).host} has no room for the locks on all tables (out of shared memory): raise its max_locks_per_transaction, as deploy/postgres/sonde.conf does`,
    );
    expect(await rowsOf(small.url, "documents")).toEqual([]);
  });

  it.each([
    [
      "a missing row",
      "names",
      "return null",
      /^names differs in PostgreSQL: rows is 0, and [1-9]\d* in/,
    ],
    [
      "another number",
      "results",
      "new.time := new.time + 1; return new",
      /^results differs in PostgreSQL: time is \d+, and \d+ in/,
    ],
    [
      "a text of as many characters but more bytes",
      "documents",
      "new.owner := 'ö' || substr(new.owner, 2); return new",
      /^documents differs in PostgreSQL: owner is \d+, and \d+ in/,
    ],
    [
      "a missing value",
      "documents",
      "new.domain := null; return new",
      /^documents differs in PostgreSQL: domain values is 0, and [1-9]\d* in/,
    ],
  ])("finds %s in the copy, and leaves PostgreSQL empty", async (_, table, change, said) => {
    using folder = copyOf(filled);
    const url = await migratedPostgres();
    const env = { SONDE_DATABASE_URL: url };
    const client = new Client(url);
    await client.connect();
    await client.query(`
      create function damage() returns trigger language plpgsql as $$ begin ${change}; end $$;
      create trigger damage before insert on ${table} for each row execute function damage();
    `);
    await client.end();
    const { code, stderr } = await runSonde(["transfer"], { folder: folder.path, env });
    const last = stderr.split("\n").at(-2) ?? "";
    expect([code, last.replace(/^sonde: /, "")]).toEqual([1, expect.stringMatching(said)]);
    expect(last).toMatch(/ in the file; nothing was transferred$/);
    for (const each of TABLES) expect(await rowsOf(url, each), each).toEqual([]);
  });

  it("accepts sums that the databases round differently", async () => {
    using folder = copyOf(filled);
    using database = new DatabaseSync(join(folder.dataDir, "sonde.db"));
    database.exec("update stats set m3 = 0");
    const rows = database.prepare("select rowid from stats limit 3").all();
    const set = database.prepare("update stats set m3 = ? where rowid = ?");
    for (const [n, m3] of [1e16, 1, -1e16].entries()) set.run(m3, rows[n]?.["rowid"] ?? null);
    const args = ["transfer", "--to", await newDatabase()];
    expect(await runSonde(args, { folder: folder.path })).toMatchObject({ code: 0 });
  });

  it("names what is missing", async () => {
    using folder = makeFolder();
    const refusal = async (args: string[]) =>
      oneLine((await runSonde(["transfer", ...args], { folder: folder.path })).stderr);
    expect(await refusal([])).toBe(
      "sonde: transfer needs --to or SONDE_DATABASE_URL: a postgres:// URL of an empty database",
    );
    expect(await refusal(["--to", "mysql://db.test/sonde"])).toBe(
      "sonde: --to is not a postgres:// or postgresql:// URL with a host; a % in a password or name is %25",
    );
    expect(await refusal(["--to", "postgres://127.0.0.1:1/sonde"])).toBe(
      `sonde: the data folder ${folder.dataDir} has no database: set SONDE_DATA_DIR to the folder of the service`,
    );
    using other = copyOf(filled);
    const gone = await runSonde(["transfer", "--to", "postgres://127.0.0.1:1/sonde"], {
      folder: other.path,
    });
    expect(oneLine(gone.stderr)).toMatch(
      /^sonde: cannot reach PostgreSQL at 127\.0\.0\.1:1 \(.*\): start it, or correct --to$/,
    );
  });
});

/** Runs the command as docs/backup.md gives it, except for the names. */
const command = (program: string, ...args: readonly string[]): string =>
  execFileSync(join(findPostgres() ?? "", program), args, { encoding: "utf8", stdio: "pipe" });

it("a dump of PostgreSQL, made while the service runs, restores the service", async () => {
  using folder = copyOf(filled);
  const [url, restored] = [await newDatabase(), await newDatabase()];
  expect(await runSonde(["transfer", "--to", url], { folder: folder.path })).toMatchObject({
    code: 0,
  });
  const env = { SONDE_EGRESS_ALLOW: target.authority };
  const dump = join(folder.path, "sonde.dump");
  /** Reports that the dump must have, and those that it may have: the service computes more. */
  let dumped: { readonly inAll: readonly string[]; readonly inAny: readonly string[] };
  {
    const options = { folder: folder.path, env: { ...env, SONDE_DATABASE_URL: url } };
    await using sonde = startSonde(["serve"], options);
    await sonde.ready();
    const reports = async () => comparable(await rowsOf(url, "insights"));
    const before = await reports();
    command("pg_dump", "--format=custom", `--file=${dump}`, url);
    const after = await reports();
    dumped = { inAll: before.filter((row) => after.includes(row)), inAny: [...before, ...after] };
    expect(sonde.log().filter(({ level }) => level === "error")).toEqual([]);
  }
  command(
    "pg_restore",
    "--no-owner",
    "--exit-on-error",
    "--single-transaction",
    `--dbname=${restored}`,
    dump,
  );
  for (const table of ["documents", "master_keys", "api_keys"])
    expect(comparable(await rowsOf(restored, table)), table).toEqual(
      comparable(await rowsOf(url, table)),
    );
  const reports = comparable(await rowsOf(restored, "insights"));
  expect(dumped.inAll).not.toEqual([]);
  expect(reports).toEqual(expect.arrayContaining([...dumped.inAll]));
  expect(dumped.inAny).toEqual(expect.arrayContaining(reports));
  await using store = await openDisposable({ url: restored });
  await using before = await openDisposable({ url });
  const month = { call_id: call, kind: "MONTH", location_id: null } as const;
  const now = new Date();
  const previous = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1);
  const expected = await before.stats.period(month, previous);
  expect(expected.size).toBeGreaterThan(0);
  expect(await store.stats.period(month, previous)).toEqual(expected);
  const options = { folder: folder.path, env: { ...env, SONDE_DATABASE_URL: restored } };
  await using sonde = startSonde(["serve"], options);
  await sonde.ready();
  await caughtUp(store, filled);
  await sonde.stop();
  await expectLedger(store, filled.schedules);
}, 120_000);
