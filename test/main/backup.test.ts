// `sonde backup` and `sonde restore` as an operator uses them, during a service's run and after it.
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { runCommand } from "../../src/commands/command-line.ts";
import { MIGRATIONS, NEWEST } from "../../src/store/migrate.ts";
import { httpClient } from "../support/client.ts";
import {
  CALLS,
  caughtUp,
  makeDataFolder,
  openFolder,
  partialsIn,
  RESULTS,
} from "../support/data-folder.ts";
import type { DataFolder } from "../support/data-folder.ts";
import { expectLedger } from "../support/deployments.ts";
import { makeFolder, oneLine, runSonde, startSonde } from "../support/process.ts";
import type { TestFolder } from "../support/process.ts";
import { aReport, aRun } from "../support/runs.ts";
import { startTarget } from "../support/target-server.ts";
import type { HttpTarget } from "../support/target-server.ts";
import { until } from "../support/until.ts";

let target: HttpTarget;
let filled: DataFolder;
/** The backup of `filled`. */
let backup: string;
/** Recorded results in it, in addition to the simulated ones. */
const MORE = 3;

beforeAll(async () => {
  target = await startTarget((_, response) => void response.end("ok"));
  filled = await makeDataFolder(target.url);
  backup = join(filled.path, "backup.db");
  expect(await run(filled, "backup", backup)).toMatchObject({ code: 0 });
});
afterAll(async () => {
  filled[Symbol.dispose]();
  await target[Symbol.asyncDispose]();
});

const run = ({ path }: { readonly path: string }, ...args: readonly string[]) =>
  runSonde(args, { folder: path });

const newKey = (): string => randomBytes(32).toString("base64");

/** Runs the command in this process, and returns what it prints. */
async function printed(
  { dataDir }: { readonly dataDir: string },
  args: readonly string[],
  settings: Readonly<Record<string, string>>,
): Promise<string> {
  let text = "";
  await runCommand([...args], { SONDE_DATA_DIR: dataDir, ...settings }, (more) => (text += more));
  return text;
}

/**
 * Returns the command's last line. It runs in this process, since starting one takes longer than
 * most commands.
 */
async function refusal(
  { dataDir }: { readonly dataDir: string },
  args: readonly string[],
  settings: Readonly<Record<string, string>> = {},
): Promise<string> {
  const print = vi.fn<(text: string) => void>();
  const ended = runCommand([...args], { SONDE_DATA_DIR: dataDir, ...settings }, print);
  const { message } = await ended.then(
    () => new Error("it succeeds"),
    (cause: unknown) => cause as Error,
  );
  expect(print).not.toHaveBeenCalled();
  return oneLine(message);
}

/** Counts results, and what they add up to in the statistics: one transaction writes both. */
function countsIn(file: string): unknown {
  using database = new DatabaseSync(file, { readOnly: true });
  return database
    .prepare(
      `select (select count(*) from results) as results,
        (select sum(count) from stats join names on names.id = kind where name = 'DAY') as counted`,
    )
    .get();
}

const newFolder = () => {
  const folder = makeFolder();
  mkdirSync(folder.dataDir);
  return folder;
};

/**
 * Kills the command that writes `file` before it has removed its temporary file; starts it again if
 * it ends sooner than this process notices.
 */
async function killMidway({ path }: TestFolder, file: string, ...args: readonly string[]) {
  const partials = () => partialsIn(dirname(file));
  await until(async () => {
    rmSync(file, { force: true });
    const sonde = startSonde(args, { folder: path });
    let hasEnded = false;
    void sonde.exited.then(() => (hasEnded = true));
    await until(() => expect(hasEnded || partials().length > 0).toBe(true));
    await sonde.kill9();
    expect(partials()).not.toEqual([]);
  });
}

describe("sonde backup", { timeout: 120_000 }, () => {
  it("copies the database, and says what else to keep", async () => {
    const copy = join(filled.path, "copy.db");
    const { code, stdout, stderr } = await run(filled, "backup", copy);
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(
        /^(?:.+ left\n)*backing up 100 %, (\d) of \1 MB, \d+ MB\/s\nchecking the copy\n$/,
      ),
    ]);
    expect(stdout.split("\n")).toEqual([
      `${copy}: ${RESULTS + MORE} results, ${CALLS + filled.schedules.length} calls`,
      expect.stringMatching(`^\\d\\.\\d MB in \\d+\\.\\d s, checked; schema ${NEWEST}$`),
      expect.stringMatching(
        `^It is sealed with the master key [0-9a-f]{12}: keep ${filled.dataDir}/master-key too, in another place\\. Without it, the backup cannot be restored\\.$`,
      ),
      "",
    ]);
    expect(statSync(copy).mode & 0o777).toBe(0o600);
    expect(countsIn(copy)).toMatchObject({ results: RESULTS + MORE });
    expect(partialsIn(filled.path)).toEqual([]);

    const before = readFileSync(copy);
    expect(await refusal(filled, ["backup", copy])).toBe(
      `${copy} exists: name another file, or replace it with --force`,
    );
    expect(readFileSync(copy).equals(before)).toBe(true);
    expect(await run(filled, "backup", copy, "--force")).toMatchObject({ code: 0 });
    expect(readFileSync(copy).equals(before)).toBe(true);
  });

  it("is consistent while others write, and leaves no partial backup when killed", async () => {
    using folder = newFolder();
    copyFileSync(backup, join(folder.dataDir, "sonde.db"));
    writeFileSync(join(folder.dataDir, "master-key"), filled.masterKey);
    const env = { SONDE_EGRESS_ALLOW: target.authority };
    await using sonde = startSonde(["serve"], { folder: folder.path, env });
    await sonde.ready();
    const size = ["--calls", "50", "--locations", "4", "--weeks", "2", "--seed", "7"];
    await using writing = startSonde(["simulate", ...size], { folder: folder.path });
    const database = join(folder.dataDir, "sonde.db");
    const atFirst = countsIn(database) as { results: number };
    await until(() =>
      expect((countsIn(database) as { results: number }).results).toBeGreaterThan(atFirst.results),
    );
    const copies = Array.from({ length: 3 }, (_, n) => join(folder.path, `copy-${n}.db`));
    for (const copy of copies) {
      expect(await run(folder, "backup", copy)).toMatchObject({ code: 0 });
      const { results, counted } = countsIn(copy) as { results: number; counted: number };
      expect(counted).toBe(results);
      expect(results).toBeGreaterThan(atFirst.results);
    }
    const killed = join(folder.path, "killed.db");
    await killMidway(folder, killed, "backup", killed);
    expect(existsSync(killed)).toBe(false);
    await run(folder, "backup", killed);
    expect(partialsIn(folder.path)).toEqual([]);
    await writing.kill9();
    expect(sonde.log().filter(({ level }) => level === "error")).toEqual([]);
  });

  it("says that it also needs the previous master key during a rotation", async () => {
    using folder = newFolder();
    using fresh = newFolder();
    const [old, current] = [newKey(), newKey()];
    const rotating = { SONDE_MASTER_KEY: current, SONDE_MASTER_KEYS_OLD: old };
    await printed(folder, ["locations", "add", "paris"], { SONDE_MASTER_KEY: old });
    await printed(folder, ["locations", "nats-config"], rotating); // registers the new key
    const file = join(folder.path, "backup.db");
    const needs = "keep SONDE_MASTER_KEY and SONDE_MASTER_KEYS_OLD too, in another place.";
    expect(await printed(folder, ["backup", file], rotating)).toContain(needs);
    const args = ["backup", file, "--force", "--with-key"];
    expect(await printed(folder, args, rotating)).toMatch(
      /with the master key \w+ and \w+\. Beside it, .*\.master-key has only \w+: keep SONDE_MASTER_KEYS_OLD too\./,
    );
    expect(await refusal(fresh, ["restore", file])).toContain("encrypted with the master key");
    const restored = await printed(fresh, ["restore", file], { SONDE_MASTER_KEYS_OLD: old });
    expect(restored).toContain(`${fresh.dataDir}/sonde.db: 0 results\n`);
  });

  it("does not mistake a database that it cannot see for a missing one", async () => {
    using folder = newFolder();
    const database = join(folder.dataDir, "sonde.db");
    symlinkSync(database, database); // as closed to every user as another user's folder
    for (const args of [
      ["backup", join(folder.path, "b.db")],
      ["restore", "--force", database],
    ])
      expect(await refusal(folder, args)).toContain(
        `cannot read ${database} (ELOOP): make it a file that this user may read`,
      );
    const { stdout } = await run(folder, "doctor");
    expect(stdout).toContain(`Cannot read the database ${database} (`);
    expect(stdout).toContain("→ run this as the user of the service");
  });

  it("names what is wrong, and writes nothing", async () => {
    using empty = newFolder();
    expect(await refusal(empty, ["backup", join(empty.path, "b.db")])).toBe(
      `the data folder ${empty.dataDir} has no database: set SONDE_DATA_DIR to the folder of the service`,
    );
    const missing = join(empty.path, "missing", "b.db");
    expect(await refusal(filled, ["backup", missing])).toBe(
      `cannot write ${missing} (ENOENT): name a file in a folder that this user may write, with room in it`,
    );
    const to = join(empty.path, "b.db");
    const tooSmall = await runSonde(["backup", to], { folder: filled.path, maxFileBytes: 100_000 });
    expect(tooSmall.code).toBe(1);
    expect(tooSmall.stderr).toContain(`cannot write ${to} (`);
    const itself = join(filled.dataDir, "sonde.db");
    for (const force of [[], ["--force"]])
      expect(await refusal(filled, ["backup", itself, ...force])).toBe(
        `${itself} is the database itself: name another file`,
      );
    const key = join(filled.dataDir, "master-key");
    expect(await refusal(filled, ["backup", key, "--force"])).toBe(
      `${key} is not a database, so --force does not replace it: name another file`,
    );
    execFileSync("mkfifo", [join(empty.dataDir, "pipe")]);
    for (const name of [empty.dataDir, join(empty.dataDir, "pipe")])
      expect(await refusal(filled, ["backup", name, "--force"])).toBe(
        `${name} is not a file: name another one`,
      );
    using crowded = newFolder();
    const database = join(crowded.dataDir, "sonde.db");
    copyFileSync(backup, database);
    writeFileSync(join(crowded.dataDir, "master-key"), filled.masterKey);
    const noRoom = { folder: crowded.path, maxFileBytes: 1 };
    expect(oneLine((await runSonde(["backup", to], noRoom)).stderr)).toBe(
      `sonde: cannot read ${database} (disk I/O error): make it a file that this user may read, in a folder with room`,
    );
    expect(oneLine((await runSonde(["keys", "list"], noRoom)).stderr)).toBe(
      `sonde: cannot use the database ${database} (disk I/O error): make the file and its folder writable, with room in it, or set SONDE_DATA_DIR`,
    );
    for (const url of [
      "postgres://ann:s3cret@db.test/sonde",
      "postgres://ann@db.test/sonde?password=s3cret",
    ])
      expect(await refusal(empty, ["backup", to], { SONDE_DATABASE_URL: url })).toBe(
        `the database is PostgreSQL: back it up with \`pg_dump --format=custom --file=${to} postgres://ann@db.test/sonde\`; see docs/backup.md`,
      );
    expect(readdirSync(empty.path)).toEqual(["data"]);
  });
});

describe("sonde restore", { timeout: 120_000 }, () => {
  it("restores the service, and records runs due since then as MISSED", async () => {
    using folder = newFolder();
    const withKey = join(folder.path, "with-key.db");
    writeFileSync(`${withKey}.master-key`, "an earlier one, for all to read", { mode: 0o644 });
    expect((await run(filled, "backup", withKey, "--with-key")).stdout).toContain(
      `beside it, ${withKey}.master-key: anyone with both files can read every secret.\n`,
    );
    expect(statSync(`${withKey}.master-key`).mode & 0o777).toBe(0o600);
    const { code, stdout } = await run(folder, "restore", withKey);
    expect([code, stdout.split("\n")]).toEqual([
      0,
      [
        `${folder.dataDir}/sonde.db: ${RESULTS + MORE} results, ${CALLS + 2} calls`,
        `schema ${NEWEST}`,
        `Runs due after ${new Date(filled.stopped).toISOString().replace(".000", "")} are not in it: the service records them as MISSED when it starts.`,
        "Keys, tokens and locations are as they were then: docs/backup.md says what to redo.",
        "",
      ],
    ]);
    const env = { SONDE_EGRESS_ALLOW: target.authority };
    const sonde = startSonde(["serve"], { folder: folder.path, env });
    await sonde.ready();
    expect(await refusal(folder, ["restore", backup, "--force"])).toMatch(
      `another sonde serve is running in ${folder.dataDir}: stop it first`,
    );
    const client = httpClient(await sonde.api(), filled.apiKey);
    const { results: calls } = await client.send<{ results: unknown[] }>("GET", "/calls/");
    expect(calls).toHaveLength(2); // those of the key's owner
    const store = await openFolder(folder, Buffer.from(filled.masterKey, "base64"));
    await caughtUp(store, filled);
    await sonde.stop();
    const { results } = await expectLedger(store, filled.schedules);
    const missed = results.filter(({ meta }) => meta.message?.startsWith("scheduler_down"));
    expect(missed.length).toBeGreaterThanOrEqual(3);
    await store.close();
  });

  it("accepts results that agents still hold, for runs that it knows", async () => {
    using folder = newFolder();
    writeFileSync(join(folder.dataDir, "master-key"), filled.masterKey);
    expect(await run(folder, "restore", backup)).toMatchObject({ code: 0 });
    const store = await openFolder(folder, Buffer.from(filled.masterKey, "base64"));
    const known = aRun({ target_id: "call-0", due_time: filled.stopped + 60_000 });
    const late = aReport(known);
    expect(await store.results.record([late])).toMatchObject({ unknown: 1, recorded: 0 });
    // By now the scheduler has opened the slots that the backup lacks.
    await store.results.recordUnreported([
      { run: known, result: "MISSED", message: "scheduler_down" },
    ]);
    expect(await store.results.record([late, aReport(aRun())])).toEqual({
      recorded: 1,
      late: 1,
      duplicate: 0,
      unknown: 1,
    });
    await store.close();
  });

  it("keeps the previous database under another name, even a damaged one", async () => {
    using folder = newFolder();
    const database = join(folder.dataDir, "sonde.db");
    writeFileSync(join(folder.dataDir, "master-key"), filled.masterKey);
    writeFileSync(database, "damaged");
    expect(await refusal(folder, ["restore", backup])).toBe(
      `the database ${database} already exists: --force replaces it, and keeps it under another name; or set SONDE_DATA_DIR to an empty folder`,
    );
    const { code, stdout } = await run(folder, "restore", backup, "--force");
    expect(code).toBe(0);
    const [, aside = ""] = /previous database is now (\S+):/.exec(stdout) ?? [];
    expect(readFileSync(aside, "utf8")).toBe("damaged");
    expect(countsIn(database)).toEqual(countsIn(backup));
  });

  it("never uses the log of another database", async () => {
    using folder = newFolder();
    const database = join(folder.dataDir, "sonde.db");
    writeFileSync(join(folder.dataDir, "master-key"), filled.masterKey);
    copyFileSync(backup, database);
    copyWithLog(database, join(folder.path, "crashed.db"), "delete from results");
    const log = `${database}-wal`;
    renameSync(join(folder.path, "crashed.db-wal"), log);
    rmSync(database); // as an operator moves a damaged one away
    for (const force of [[], ["--force"]])
      expect(await refusal(folder, ["restore", backup, ...force])).toBe(
        `${log} is the log of a database that is no longer beside it: move it to that database, or remove it`,
      );
    expect(await refusal(filled, ["backup", database])).toBe(
      `${log} exists: name another file, or replace it with --force`,
    );
    expect(existsSync(database)).toBe(false);
    expect(await run(filled, "backup", database, "--force")).toMatchObject({ code: 0 });
    expect(countsIn(database)).toEqual(countsIn(backup));
  });

  it("restores through a link what is still in the log", async () => {
    using folder = newFolder();
    const [file, link] = [join(folder.path, "crashed.db"), join(folder.path, "link.db")];
    copyFileSync(backup, join(folder.path, "copy.db"));
    copyWithLog(join(folder.path, "copy.db"), file, "delete from results");
    symlinkSync(file, link);
    const settings = { SONDE_MASTER_KEY: filled.masterKey };
    expect(await printed(folder, ["restore", link], settings)).toContain("sonde.db: 0 results,");
    expect(countsIn(join(folder.dataDir, "sonde.db"))).toMatchObject({ results: 0 });
  });

  it("uses the key beside the backup in a folder that has another one", async () => {
    using folder = newFolder();
    const [file, master] = [join(folder.path, "b.db"), join(folder.dataDir, "master-key")];
    const beside = `${file}.master-key`;
    copyFileSync(backup, file);
    const [other, third] = [newKey(), newKey()];
    writeFileSync(beside, filled.masterKey);
    expect(await refusal(folder, ["restore", file], { SONDE_MASTER_KEY: other })).toMatch(
      `, which is in ${beside}: set SONDE_MASTER_KEY to it; or add it to SONDE_MASTER_KEYS_OLD`,
    );
    await printed(folder, ["locations", "add", "paris"], {}); // as a first start, generates a key
    const own = readFileSync(master, "utf8");
    for (const text of ["", "garbage", Buffer.alloc(31).toString("base64"), third]) {
      writeFileSync(beside, text);
      expect(await refusal(folder, ["restore", file, "--force"])).toMatch(
        text === third
          ? /^the database is encrypted with the master key \w+, and this process has /
          : `${beside} does not hold a key of 32 bytes in base64`,
      );
    }
    writeFileSync(beside, filled.masterKey);
    const asOld = { SONDE_MASTER_KEYS_OLD: filled.masterKey };
    expect(await printed(folder, ["restore", file, "--force"], asOld)).not.toContain("aster key");
    expect(readFileSync(master, "utf8")).toBe(own);

    rmSync(join(folder.dataDir, "sonde.db"));
    expect(await refusal(folder, ["restore", file])).toMatch(
      `, which is in ${beside}: --force puts it in the place of ${master}, which gets another name; or`,
    );
    const text = await printed(folder, ["restore", file, "--force"], {});
    const [, aside = ""] = /^The previous master key is now (\S+): /m.exec(text) ?? [];
    expect(aside).toMatch(/\/master-key\.[0-9a-f]{12}$/);
    expect([readFileSync(aside, "utf8"), statSync(aside).mode & 0o777]).toEqual([own, 0o600]);
    expect(readFileSync(master, "utf8")).toBe(filled.masterKey);
  });

  it("leaves no partial database when killed", async () => {
    using folder = newFolder();
    const database = join(folder.dataDir, "sonde.db");
    writeFileSync(join(folder.dataDir, "master-key"), filled.masterKey);
    await killMidway(folder, database, "restore", backup);
    // The database is absent, or complete.
    if (existsSync(database)) expect(countsIn(database)).toEqual(countsIn(backup));
    expect(await run(folder, "restore", backup, "--force")).toMatchObject({ code: 0 });
    expect(countsIn(database)).toEqual(countsIn(backup));
    expect(partialsIn(folder.dataDir)).toEqual([]);
  });

  it("names what is wrong, and changes nothing", async () => {
    using folder = newFolder();
    const file = join(folder.path, "bad.db");
    const restoring = () => refusal(folder, ["restore", file]);
    expect(await restoring()).toBe(`there is no file ${file}`);
    writeFileSync(file, "no database at all".repeat(100));
    expect(await restoring()).toBe(`${file} is not a database of Sonde`);
    writeFileSync(file, "");
    expect(await restoring()).toBe(`${file} is not a database of Sonde`);

    copyFileSync(backup, file);
    expect(await restoring()).toMatch(`${file} is sealed with the master key `);
    writeFileSync(join(folder.dataDir, "master-key"), Buffer.alloc(32, 1).toString("base64"));
    expect(await restoring()).toMatch(/the database is encrypted with the master key [0-9a-f]{12}/);
    writeFileSync(join(folder.dataDir, "master-key"), filled.masterKey);

    alter(file, "insert into kysely_migration values ('9999-later', '')");
    expect(await restoring()).toBe(
      `${file} is from a newer Sonde: it has schema 9999-later, and this Sonde supports schemas up to ${NEWEST}: use the Sonde that made it`,
    );
    const bytes = readFileSync(backup);
    bytes.fill(0x55, bytes.length / 2, bytes.length / 2 + 20_000);
    writeFileSync(file, bytes);
    // The key beside a damaged backup is not taken either: another backup may have another one.
    renameSync(join(folder.dataDir, "master-key"), `${file}.master-key`);
    expect(await restoring()).toMatch(/^\S+\/bad\.db is damaged \(.+\): use another copy$/);
    expect(readdirSync(folder.dataDir).toSorted()).toEqual(["serve.lock"]);
  });

  it("migrates a backup of an older version", async () => {
    using folder = newFolder();
    writeFileSync(join(folder.dataDir, "master-key"), filled.masterKey);
    const older = join(folder.path, "older.db");
    copyFileSync(backup, older);
    const previous = Object.keys(MIGRATIONS).at(-2);
    alter(
      older,
      `delete from kysely_migration where name = '${NEWEST}';
       drop index workflow_results_time;
       drop index workflow_results_list;`,
    );
    const { code, stdout } = await run(folder, "restore", older);
    expect([code, stdout]).toEqual([
      0,
      expect.stringContaining(`\nschema ${previous}, migrated to ${NEWEST}\n`),
    ]);
    expect(countsIn(join(folder.dataDir, "sonde.db"))).toEqual(countsIn(backup));
  });
});

/** Copies the database, with the log of a process that was killed after these statements. */
function copyWithLog(file: string, to: string, statements: string): void {
  using database = new DatabaseSync(file);
  database.exec(statements);
  for (const suffix of ["", "-wal"]) copyFileSync(`${file}${suffix}`, `${to}${suffix}`);
}

function alter(file: string, statements: string): void {
  using database = new DatabaseSync(file);
  database.exec(`pragma journal_mode = delete; ${statements}`);
}
