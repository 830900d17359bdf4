// The program as its user sees it: its output, its exit code, and what it leaves behind.
import { execFileSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, rmdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { sql } from "kysely";
import { describe, expect, inject, it, vi } from "vitest";
import { startNatsServer } from "../support/nats-server.ts";
import { freePort } from "../support/free-port.ts";
import { runCommand } from "../../src/commands/command-line.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import { openPostgres } from "../../src/store/postgres/postgres.ts";
import { createDatabase } from "../support/postgres.ts";
import { COMPILED_CODE, makeFolder, oneLine, runSonde, startSonde } from "../support/process.ts";
import type { TestFolder } from "../support/process.ts";
import { migratedPostgres } from "../support/stores.ts";
import { startTarget } from "../support/target-server.ts";

/** Runs a command in this process. */
async function run(args: string[], environment: Readonly<Record<string, string>> = {}) {
  let stdout = "";
  const code = await runCommand(args, environment, (text) => void (stdout += text));
  return { code, stdout };
}

describe("the command line", () => {
  it.each([
    [[], /^Usage: sonde COMMAND [^]+\n {2}serve [^]+\n {2}migrate /],
    [["-h"], /^Usage: sonde COMMAND /],
    [["help"], /^Usage: sonde COMMAND /],
    [["help", "keys"], /^Usage: sonde keys [^]+\n {2}revoke /],
    [
      ["keys", "revoke", "--help"],
      /^Usage: sonde keys revoke [^]+Example:\n {2}sonde keys revoke /,
    ],
    [["agents", "drain", "--help"], /\n {2}sonde agents drain agent-[0-9a-f]{16}\n/],
    [["calls", "create", "--help"], /such as POST \(default: GET\)\n[^]+ a tag; may be repeated\n/],
    [
      ["calls", "update", "--help"],
      /such as POST\n[^]+ a tag; may be repeated; replaces the old list\n/,
    ],
  ])("explains itself: %j", async (args, help) => {
    expect(await run(args)).toEqual({ code: 0, stdout: expect.stringMatching(help) });
  });

  it("gives an example of each command, in 80 columns", async () => {
    const helpOf = async (...words: string[]): Promise<string> =>
      (await run([...words, "--help"])).stdout;
    const commandsIn = (help: string): string[] =>
      [...help.matchAll(/^ {2}([a-z][a-z-]*) {2,}[A-Z]/gm)].map(([, name = ""]) => name);
    const top = await helpOf();
    expect(commandsIn(top).length).toBeGreaterThan(10);
    for (const name of commandsIn(top)) {
      const help = await helpOf(name);
      const below = commandsIn(help);
      const helps = await Promise.all(below.map((each) => helpOf(name, each)));
      for (const each of below.length > 0 ? helps : [help])
        expect(each).toMatch(/\nExamples?:\n {2}\S*\s?\S*sonde/);
      for (const line of [top, help, ...helps].join("").split("\n"))
        expect(line.length, line).toBeLessThanOrEqual(80);
      for (const text of [help, ...helps])
        expect(text).not.toMatch(/\(default: [^)]*\)\s+\(default:/);
    }
  });

  it("prints its version", async () => {
    const { code, stdout, stderr } = await runSonde(["--version"]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it.concurrent("keeps compiled code for the next start, but works without", async () => {
    using folder = makeFolder();
    const kept = join(folder.path, "kept");
    const versionWith = async (NODE_COMPILE_CACHE: string) =>
      (await runSonde(["--version"], { env: { NODE_COMPILE_CACHE } })).code;
    expect(await versionWith(kept)).toBe(0);
    expect(globSync("*/*", { cwd: kept })).not.toEqual([]);
    expect(await versionWith("/dev/null/kept")).toBe(0);
    // Without the setting, which the other tests use, the program uses its own folder.
    expect(await versionWith("")).toBe(0);
    expect(globSync("*/*", { cwd: COMPILED_CODE })).not.toEqual([]);
  });

  it("rejects an unknown command with one line and exit code 1", async () => {
    const { code, stdout, stderr } = await runSonde(["frob"]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(oneLine(stderr)).toMatch(
      /^sonde: unknown command 'frob': the commands are run, .*; see `sonde --help`$/,
    );
  });

  it.each([
    [["frob", "--help"], /^unknown command 'frob': the commands are run/],
    [["help", "keys", "frob"], /^unknown command 'frob': the commands are .*create/],
    [["sevre"], /^unknown command 'sevre': did you mean serve\? See `sonde --help`$/],
    [["keys"], /^keys needs a command: create, .*; see `sonde keys --help`$/],
  ])("rejects the unknown command %j", async (args, message) => {
    const said = await run(args).then(
      ({ stdout }) => stdout,
      (cause: unknown) => (cause as Error).message,
    );
    expect(oneLine(said)).toMatch(message);
  });

  it.concurrent.each([
    [
      ["serve", "--frob"],
      "unknown option '--frob': serve takes --roles, --demo; see `sonde serve --help`",
    ],
    [
      ["serve", "--role", "api"],
      "unknown option '--role': did you mean --roles? See `sonde serve --help`",
    ],
    [
      ["keys", "create", "--level"],
      "keys create needs --level <level>: one of VIEWER, EDITOR, OWNER; see `sonde keys create --help`",
    ],
    [
      ["completion"],
      "completion needs <shell>: one of zsh, bash, fish, powershell; see `sonde completion --help`",
    ],
    [
      ["completion", "bash", "zsh"],
      "completion does not take 'zsh'; see `sonde completion --help`",
    ],
    [["serve", "now"], "serve does not take 'now'; see `sonde serve --help`"],
    [
      ["keys", "create", "--level", "ROOT"],
      "--level: 'ROOT' is not one of VIEWER, EDITOR, OWNER; see `sonde keys create --help`",
    ],
    [["keys", "create", "--name", ""], "--name: '' is too short (at least 1 character)"],
    [
      ["keys", "revoke"],
      "keys revoke needs <id>: a key's id, from `sonde keys list`; see `sonde keys revoke --help`",
    ],
    [["stats", "rebuild", "--from", "x"], "--from: 'x' is not an ISO 8601 date or date-time"],
    [["stats", "rebuild", "--to", ""], "--to: '' is not an ISO 8601 date or date-time"],
    [
      ["stats", "rebuild", "--from", "2026-10-02", "--to", "2026-10-01"],
      "--to: '2026-10-01' is not after --from '2026-10-02'",
    ],
    [
      ["locations", "add"],
      "locations add needs <id>: 1 to 64 letters, digits, _ or -; see `sonde locations add --help`",
    ],
    [["locations", "add", "a b"], "'a b' is not a location id (1 to 64 letters, digits, _ or -)"],
  ])("rejects %j with one line", async (args, message) => {
    using folder = makeFolder();
    const print = vi.fn<(text: string) => void>();
    const environment = { SONDE_DATA_DIR: folder.dataDir };
    // In this process: the test above shows where a message goes, and the exit code.
    await expect(runCommand(args, environment, print)).rejects.toThrow(
      expect.objectContaining({ message }),
    );
    expect(print).not.toHaveBeenCalled();
  });

  it.concurrent.each([
    [["keys", "revoke", "nope"], "no active key 'nope'; `sonde keys list` shows them"],
    [["keys", "link", "nope"], "no active key 'nope'; `sonde keys list` shows them"],
    [
      ["stats", "rebuild", "--call", "nope"],
      "--call: no call 'nope' has results or statistics; without --call, all are checked",
    ],
  ])("rejects %j, which is not in the database", async (args, message) => {
    using folder = makeFolder();
    const environment = { SONDE_DATA_DIR: folder.dataDir };
    await runCommand(["migrate"], environment, () => undefined);
    await expect(runCommand(args, environment, () => undefined)).rejects.toThrow(
      expect.objectContaining({ message }),
    );
  });
});

it("removes expired data, or only counts it with --dry-run", async () => {
  using folder = makeFolder();
  const environment = { SONDE_DATA_DIR: folder.dataDir, SONDE_RETENTION_AUDIT: "1" };
  const run = async (...args: string[]) => {
    const print = vi.fn<(text: string) => void>();
    await runCommand(args, environment, print);
    return print.mock.calls.map(([text]) => JSON.parse(text) as Record<string, unknown>);
  };
  await run("keys", "create");
  const database = openSqlite({ path: join(folder.dataDir, "sonde.db"), clock: systemClock });
  await database.kysely.updateTable("audit").set({ time: 1 }).execute();
  await database.kysely.destroy();
  const kinds = ["details", "workflow_results", "results", "hours", "percentiles"];
  const none = (count: object) => kinds.map((kind) => ({ kind, ...count, oldest_kept: null }));
  const audit = { kind: "audit", oldest_kept: null };
  for (const times of [1, 2])
    expect(await run("retention", "run", "--dry-run"), `time ${times}`).toEqual([
      ...none({ would_remove: 0 }),
      { ...audit, would_remove: 1 },
    ]);
  for (const removed of [1, 0])
    expect(await run("retention", "run")).toEqual([...none({ removed: 0 }), { ...audit, removed }]);
});

it("no longer listens for signals when a command has ended", async () => {
  using folder = makeFolder();
  const listeners = () => ["SIGINT", "SIGTERM"].map((signal) => process.listenerCount(signal));
  const before = listeners();
  const backup = join(folder.path, "backup");
  const to = `postgres://127.0.0.1:${await freePort()}/sonde`;
  for (const args of [
    ["simulate", "--calls", "1", "--weeks", "1", "--frequency", "1440"],
    ["retention", "run"],
    ["backup", backup],
    ["backup", backup], // fails: it exists
    ["restore", backup, "--force"],
    ["transfer", "--to", to], // fails: nothing listens
  ])
    await runCommand(args, { SONDE_DATA_DIR: folder.dataDir }, () => undefined).catch(String);
  expect(listeners()).toEqual(before);
});

it("prints a sign-in link to the pages, and audits it", async () => {
  using folder = makeFolder();
  const environment = { SONDE_DATA_DIR: folder.dataDir, SONDE_HOST: "0.0.0.0" };
  const run = async (more: Record<string, string>, ...args: string[]) => {
    const print = vi.fn<(text: string) => void>();
    await runCommand(args, { ...environment, ...more }, print);
    return print.mock.calls.flat().join("");
  };
  const { id } = JSON.parse(await run({}, "keys", "create", "--owner", "ann")) as { id: string };
  const link = /^http:\/\/127\.0\.0\.1:8080\/sign-in#[\w-]{43}\n$/;
  expect(await run({}, "keys", "link", id)).toMatch(link);
  const publicUrl = { SONDE_PUBLIC_URL: "https://example.com/sonde" };
  expect(await run(publicUrl, "keys", "link", id)).toMatch(
    /^https:\/\/example.com\/sonde\/sign-in#/,
  );
  await expect(run({ SONDE_PORT: "0" }, "keys", "link", id)).rejects.toThrow("SONDE_PUBLIC_URL");
  const none = "no active OWNER key; create one: `sonde keys create --level OWNER`";
  await expect(run({}, "keys", "link")).rejects.toThrow(none);
  const [entry] = (await run({}, "audit", "list", "--limit", "1")).split("\n");
  await run({}, "keys", "create", "--level", "OWNER");
  expect(await run({}, "keys", "link")).toMatch(link);
  expect(JSON.parse(entry ?? "")).toMatchObject({
    actor: "command line",
    owner: "ann",
    action: "issue",
    kind: "sign_in",
    object_id: id,
  });
});

it("quotes an agent's environment for the shell", async () => {
  using folder = makeFolder();
  const { code, stdout } = await runSonde(["locations", "add", "paris"], { folder: folder.path });
  expect(code).toBe(0);
  const file = join(folder.path, "paris.env");
  writeFileSync(file, stdout);
  const script = '. "$0" && printf %s "$SONDE_LOCATION $SONDE_NATS_URL"';
  const read = execFileSync("sh", ["-c", script, file], { encoding: "utf8" });
  expect(read).toBe("paris nats://<host>:4222");
});

describe("an invalid configuration", () => {
  it("is reported in full, before anything listens or is created", async () => {
    using folder = makeFolder();
    const { code, stdout, stderr } = await runSonde(["serve", "--roles", "api,cook"], {
      folder: folder.path,
      env: {
        SONDE_PORT: "http",
        SONDE_OPS_PORT: "70000",
        SONDE_PROT: "1",
        SONDE_LOG_LEVEL: "loud",
        SONDE_BOOTSTRAP_KEY: "s3cret",
        SONDE_DATABASE_URL: "mysql://ann:s3cret@db/sonde",
      },
    });
    expect([code, stdout]).toEqual([1, ""]);
    const [title, ...faults] = stderr.trimEnd().split("\n");
    expect(title).toBe("sonde: invalid configuration:");
    expect(faults.map((fault) => fault.split(/[: ]+/)[1])).toEqual([
      "SONDE_PROT",
      "SONDE_PORT",
      "SONDE_OPS_PORT",
      "SONDE_DATABASE_URL",
      "--roles",
      "SONDE_BOOTSTRAP_KEY",
      "SONDE_LOG_LEVEL",
    ]);
    expect(stderr).not.toContain("s3cret");
    expect(existsSync(folder.dataDir)).toBe(false);
  });

  it("is reported by other commands too, such as a role without its server", async () => {
    const { code, stderr } = await runSonde(["keys", "list"], {
      env: { SONDE_ROLES: "agent" },
    });
    expect(code).toBe(1);
    expect(stderr).toContain("set SONDE_NATS_URL");
  });
});

it("refuses the hub's commands on a machine that runs only agents", async () => {
  using folder = makeFolder();
  const env = {
    SONDE_ROLES: "agent",
    SONDE_NATS_URL: "nats://nats:4222",
    SONDE_LOCATION_KEY: Buffer.alloc(32, 1).toString("base64"),
  };
  for (const args of [["keys", "create"], ["agents", "list"], ["migrate"]]) {
    const { code, stdout, stderr } = await runSonde(args, { folder: folder.path, env });
    expect([code, stdout, oneLine(stderr)]).toEqual([
      1,
      "",
      "sonde: a machine that runs only agents (SONDE_ROLES) has no database: run this on the hub, with its settings",
    ]);
  }
  expect(existsSync(join(folder.dataDir, "sonde.db"))).toBe(false);
});

it("creates no database to list or change what another folder has", async () => {
  using folder = makeFolder();
  for (const args of [
    ["keys", "list"],
    ["locations", "remove", "paris"],
    ["agents", "list"],
    ["audit", "list"],
    ["retention", "run"],
  ])
    await expect(runCommand(args, { SONDE_DATA_DIR: folder.dataDir }, () => {})).rejects.toThrow(
      `the data folder ${folder.dataDir} has no database: set SONDE_DATA_DIR to the folder of the service`,
    );
  expect(existsSync(folder.dataDir)).toBe(false);
});

it("prints the effective settings without secrets", async () => {
  const { code, stdout } = await runSonde(["config", "print"], {
    env: {
      SONDE_NATS_URL: "nats://ann:s3cret@nats:4222",
      SONDE_DATABASE_URL: "postgres://ann:s3cret@db/sonde",
      SONDE_BOOTSTRAP_KEY: "0123456789abcdefghijABCDEFGHIJs3",
      SONDE_LOCATION: "paris",
    },
  });
  expect(code).toBe(0);
  expect(stdout).toContain("SONDE_LOCATION=paris\n");
  expect(stdout).toContain("SONDE_DATABASE_URL=[set]\n");
  expect(stdout).toContain("SONDE_MASTER_KEY=\n");
  expect(stdout).not.toMatch(/s3cret|0123456789abcdef/);
});

describe("a failed start ends with one line and exit code 1", () => {
  it("when the ops port is in use, although connections to servers are open", async () => {
    await using nats = await startNatsServer();
    await using taken = await startTarget();
    const { code, stderr } = await runSonde(["serve"], {
      env: {
        SONDE_OPS_PORT: String(taken.port),
        SONDE_NATS_URL: nats.url,
        SONDE_DATABASE_URL: await migratedPostgres(),
      },
    });
    expect([code, oneLine(stderr)]).toEqual([
      1,
      `sonde: the ops server cannot listen on 127.0.0.1:${taken.port}: the port is in use; choose another with SONDE_OPS_PORT`,
    ]);
  });

  it.each([
    [
      "the API's port in use",
      async () => startTarget(),
      (port: number) =>
        `sonde: the API cannot listen on 127.0.0.1:${port}: the port is in use; choose another with SONDE_PORT`,
    ],
    [
      "an unwritable key file",
      async (folder: TestFolder) => blockKeyFile(folder),
      () => expect.stringContaining("owner-key"),
    ],
  ])("and after %s the next start shows the first key", async (_what, take, message) => {
    using folder = makeFolder();
    {
      await using taken = await take(folder);
      const { code, stderr } = await runSonde(["serve"], {
        folder: folder.path,
        env: { SONDE_PORT: String(taken.port) },
      });
      expect([code, oneLine(stderr)]).toEqual([1, message(taken.port)]);
    }
    await using sonde = startSonde(["serve"], { folder: folder.path });
    await sonde.ready();
    await expect.poll(() => sonde.stdout()).toMatch(/^ {2}[A-Za-z0-9]{32}$/m);
  });

  it("when PostgreSQL cannot be reached, without its password", async () => {
    const port = await freePort();
    const { code, stdout, stderr } = await runSonde(["serve"], {
      env: {
        SONDE_DATABASE_URL: `postgres://ann:s3cret@127.0.0.1:${port}/sonde`,
      },
    });
    expect([code, stdout]).toEqual([1, ""]);
    expect(oneLine(stderr)).toMatch(
      new RegExp(`^sonde: cannot reach PostgreSQL at 127.0.0.1:${port} .*SONDE_DATABASE_URL$`),
    );
    expect(stderr).not.toContain("s3cret");
  });

  it("when the database lacks a table, although other connections are open", async () => {
    const databaseUrl = await migratedPostgres();
    await using nats = await startNatsServer();
    const env = {
      SONDE_DATABASE_URL: databaseUrl,
      SONDE_NATS_URL: nats.url,
    };
    {
      await using database = openPostgres({ url: databaseUrl }).kysely;
      await database.schema.dropTable("locations").execute();
    }
    const { code, stderr } = await runSonde(["serve"], { env });
    expect([code, oneLine(stderr)]).toEqual([1, 'sonde: relation "locations" does not exist']);
  });

  it("when NATS cannot be reached, without its password", async () => {
    const port = await freePort();
    const { code, stdout, stderr } = await runSonde(["serve"], {
      env: { SONDE_NATS_URL: `nats://ann:s3cret@127.0.0.1:${port}` },
    });
    expect([code, stdout]).toEqual([1, ""]);
    expect(oneLine(stderr)).toMatch(
      new RegExp(`^sonde: cannot reach NATS at nats://127.0.0.1:${port} .*SONDE_NATS_URL$`),
    );
    expect(stderr).not.toContain("s3cret");
  });

  it("when the disk is full, and the next start succeeds", async () => {
    using folder = makeFolder();
    const options = { folder: folder.path };
    const { code, stderr } = await runSonde(["migrate"], {
      ...options,
      maxFileBytes: 65_536,
    });
    expect([code, oneLine(stderr)]).toEqual([
      1,
      `sonde: the database schema could not be migrated (database unavailable: disk I/O error); nothing was changed: make ${folder.dataDir}/sonde.db and its folder writable, with room in it, or set SONDE_DATA_DIR`,
    ]);
    await using sonde = startSonde(["serve"], options);
    await sonde.ready();
  });

  it("when nothing can be written in its data folder", async () => {
    const { code, stderr } = await runSonde(["serve"], {
      env: { SONDE_DATA_DIR: "/proc/self/task" },
    });
    expect([code, oneLine(stderr)]).toEqual([
      1,
      "sonde: cannot lock /proc/self/task/serve.lock (unable to open database file): make the folder writable, with room in it, or set SONDE_DATA_DIR",
    ]);
  });
});

// In this process: tests above show where a message goes, and the exit code.
describe("a command says what is wrong", () => {
  it.each([
    ["the user", (url: URL) => (url.username = "nobody")],
    ["the database", (url: URL) => (url.pathname = "/nowhere")],
  ])("when PostgreSQL does not know %s", async (_what, change) => {
    const url = new URL(inject("postgresUrl"));
    change(url);
    await expect(run(["keys", "list"], { SONDE_DATABASE_URL: url.href })).rejects.toThrow(
      new RegExp(
        `^PostgreSQL at ${url.host} refuses the connection \\(.* does not exist\\): correct SONDE_DATABASE_URL$`,
      ),
    );
  });

  it("when PostgreSQL has no connection left", async () => {
    const url = new URL(await createDatabase(inject("postgresUrl")));
    const name = url.pathname.slice(1);
    await using database = openPostgres({ url: url.href }).kysely;
    await sql`create role ${sql.id(name)} login connection limit 0`.execute(database);
    url.username = name;
    await expect(run(["keys", "list"], { SONDE_DATABASE_URL: url.href })).rejects.toThrow(
      /^cannot reach PostgreSQL at \S+ \(too many connections .*\): raise its max_connections, or lower SONDE_DATABASE_CONNECTIONS of the processes$/,
    );
  });

  it("when PostgreSQL is read-only, migrated or not", async () => {
    for (const url of [await createDatabase(inject("postgresUrl")), await migratedPostgres()]) {
      const readOnly = `${url}?options=-cdefault_transaction_read_only%3Don`;
      const { code, stderr } = await runSonde(["serve"], {
        env: { SONDE_DATABASE_URL: readOnly },
      });
      expect(code).toBe(1);
      expect(oneLine(stderr)).toMatch(
        /^sonde: PostgreSQL at \S+ is read-only \(cannot execute .* in a read-only transaction\): if it is a standby, let SONDE_DATABASE_URL lead to the primary; otherwise turn its default_transaction_read_only off$/,
      );
    }
  });

  it.concurrent.each([
    [
      "below a file",
      "file/data",
      "the data folder FOLDER/file/data cannot be created (ENOTDIR): make it writable, or set SONDE_DATA_DIR",
    ],
    [
      "a file",
      "file",
      "the data folder FOLDER/file is not a folder: remove it, or set SONDE_DATA_DIR",
    ],
    [
      "a link to nowhere",
      "link",
      "the data folder FOLDER/link is not a folder: remove it, or set SONDE_DATA_DIR",
    ],
    [
      "where the system creates no folders",
      "/proc/sonde/data",
      "the data folder /proc/sonde/data cannot be created (ENOENT): make it writable, or set SONDE_DATA_DIR",
    ],
    [
      "a folder with an unreadable key",
      "no-key",
      "FOLDER/no-key/master-key cannot be read (EISDIR): make it a file that this user may read, or set SONDE_DATA_DIR",
    ],
    [
      "a folder with an unopenable database",
      "no-file",
      "cannot use the database FOLDER/no-file/sonde.db (unable to open database file): make the file and its folder writable, with room in it, or set SONDE_DATA_DIR",
    ],
    [
      "a folder with a file that is not a database",
      "no-database",
      "cannot use the database FOLDER/no-database/sonde.db (file is not a database): restore it from a backup, or move it away, or set SONDE_DATA_DIR",
    ],
  ])("when the data folder is %s", async (_what, path, message) => {
    using folder = makeFolder();
    const environment = { SONDE_DATA_DIR: resolve(fillFolder(folder), path) };
    await expect(run(["keys", "create"], environment)).rejects.toThrow(
      expect.objectContaining({ message: message.replace("FOLDER", folder.path) }),
    );
  });
});

/** Fills the folder with things that cannot serve as a data folder. */
function fillFolder({ path }: TestFolder): string {
  writeFileSync(join(path, "file"), "");
  symlinkSync(join(path, "nowhere"), join(path, "link"));
  mkdirSync(join(path, "no-key/master-key"), { recursive: true });
  mkdirSync(join(path, "no-file/sonde.db"), { recursive: true });
  mkdirSync(join(path, "no-database"));
  writeFileSync(
    join(path, "no-database/sonde.db"),
    "not a database, whatever its name says".repeat(100),
  );
  return path;
}

/** Puts a folder in the place of the key file. */
function blockKeyFile({ dataDir }: TestFolder) {
  const file = join(dataDir, "owner-key");
  mkdirSync(file, { recursive: true });
  return { port: 0, [Symbol.asyncDispose]: async () => rmdirSync(file) };
}
