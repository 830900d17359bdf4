// A real PostgreSQL server in a temporary folder, on a free port.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Client, Pool } from "pg";
import type { Certificate } from "./certificates.ts";
import { isRefused } from "../../src/store/postgres/postgres.ts";
import { freePort } from "./free-port.ts";
import { findPostgres } from "./programs.ts";

export interface PostgresServer extends AsyncDisposable {
  /** The URL of its maintenance database. */
  readonly url: string;
  readonly pid: number;
  readonly data: string;
  /** Creates an empty database and returns its URL. */
  createDatabase(): Promise<string>;
  /** Restarts the server with TLS and this certificate; connections without TLS stay possible. */
  secure(certificate: Certificate): Promise<void>;
  /** False once it has ended unexpectedly. */
  isRunning(): boolean;
  /** Stops the server like a crash; `start` restarts it on the same data and port. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

export interface PostgresServerOptions {
  /** Whether it syncs to disk as in production; tests run without. */
  readonly durable?: boolean;
  /** Default a free port of 127.0.0.1. */
  readonly address?: { readonly host: string; readonly port: number };
  /** The folder of its data; by default in memory, if there is room and it need not be durable. */
  readonly folder?: string;
  /** Changes the configuration in the data folder before the first start. */
  readonly configure?: (data: string) => void;
  /** Statements that run before the first start, one by one. */
  readonly sql?: readonly string[];
}

export async function startPostgres({
  durable = false,
  address,
  folder = durable ? tmpdir() : folderInMemory(),
  configure,
  sql = [],
}: PostgresServerOptions = {}): Promise<PostgresServer> {
  const bin = requirePostgres();
  const directory = mkdtempSync(join(folder, "sonde-postgres-"));
  const identity = runAs(directory);
  const data = join(directory, "data");
  const { host, port } = address ?? { host: "127.0.0.1", port: await freePort() };
  makeData({ bin, identity, data, host, port, durable, configure, sql });
  const url = `postgres://postgres@${host}:${port}/postgres`;

  let server = spawnServer();
  function spawnServer(...settings: readonly string[]) {
    const options = settings.flatMap((setting) => ["-c", setting]);
    return spawn(join(bin, "postgres"), ["-D", data, ...options], {
      ...identity,
      stdio: "ignore",
    });
  }
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const exited = once(server, "exit");
    server.kill(signal);
    await exited;
  };
  await untilReady(url, () => server.exitCode);

  return {
    url,
    get pid() {
      return server.pid as number;
    },
    data,
    createDatabase: () => createDatabase(url),
    async secure({ cert, key }) {
      for (const [name, pem] of Object.entries({ "server.crt": cert, "server.key": key })) {
        const file = join(data, name);
        writeFileSync(file, pem, { mode: 0o600 });
        if (identity.uid !== undefined) chownSync(file, identity.uid, identity.gid ?? 0);
      }
      await end("SIGINT");
      server = spawnServer("ssl=on");
      await untilReady(url, () => server.exitCode);
    },
    isRunning: () => server.exitCode === null && server.signalCode === null,
    // SIGQUIT is PostgreSQL's immediate shutdown: no checkpoint, recovery at the next start.
    kill: () => end("SIGQUIT"),
    async start() {
      server = spawnServer();
      await untilReady(url, () => server.exitCode);
    },
    async [Symbol.asyncDispose]() {
      await end("SIGINT");
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

interface Identity {
  readonly uid?: number;
  readonly gid?: number;
}

interface DataOptions extends Required<Pick<PostgresServerOptions, "durable" | "sql">> {
  readonly bin: string;
  readonly identity: Identity;
  readonly data: string;
  readonly host: string;
  readonly port: number;
  readonly configure: PostgresServerOptions["configure"];
}

const MEMORY = "/dev/shm";
const ROOM_IN_MEMORY = 4 * 2 ** 30;

/** On a disk, files of hundreds of databases take two fifths of the server's time. */
export function folderInMemory(): string {
  if (!existsSync(MEMORY)) return tmpdir();
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize > ROOM_IN_MEMORY ? MEMORY : tmpdir();
}

/**
 * For databases that live for seconds: nothing needs to survive a crash of the machine, and
 * vacuuming hundreds of them would take longer than the tests.
 */
const QUICK = [
  "fsync=off",
  "full_page_writes=off",
  "autovacuum=off",
  "wal_level=minimal",
  "max_wal_senders=0",
  "max_wal_size=1GB",
  "checkpoint_timeout=1h",
];

function makeData({ bin, identity, data, host, port, durable, configure, sql }: DataOptions): void {
  execFileSync(
    join(bin, "initdb"),
    // The environment's locale may not be installed.
    [
      `--pgdata=${data}`,
      "--username=postgres",
      "--auth=trust",
      "--encoding=UTF8",
      "--no-locale",
      "--no-sync",
    ],
    { ...identity, stdio: "ignore" },
  );
  const settings = [
    `port=${port}`,
    `listen_addresses=${host}`,
    `unix_socket_directories=${dirname(data)}`,
    "max_connections=200",
    ...(durable ? [] : QUICK),
  ];
  writeFileSync(
    join(data, "postgresql.auto.conf"),
    settings.map((line) => line.replace(/=(.*)/, " = '$1'")).join("\n"),
  );
  configure?.(data);
  const { uid, gid } = identity;
  if (uid !== undefined) execFileSync("chown", ["-R", `${uid}:${gid}`, data]);
  if (sql.length === 0) return;
  execFileSync(join(bin, "postgres"), ["--single", "-j", "-D", data, "postgres"], {
    ...identity,
    stdio: "pipe",
    input: sql.map((statement) => `${statement};\n\n`).join(""),
  });
}

let databases = 0;
const maintenance = new Map<string, Pool>();

/** Keeps the connection for a while: a new one costs the server more than an empty database. */
function maintenanceOf(url: string): Pool {
  const open = maintenance.get(url);
  if (open !== undefined) return open;
  const pool = new Pool({ connectionString: url, max: 1, allowExitOnIdle: true });
  pool.on("error", () => {}); // the server has stopped; the next query connects anew
  maintenance.set(url, pool);
  return pool;
}

/** Creates a database on the server at `url`, empty or a copy of another one; returns its URL. */
export async function createDatabase(url: string, template = "template1"): Promise<string> {
  databases += 1;
  const name = `test_${process.pid}_${databases}_${Math.random().toString(36).slice(2, 10)}`;
  await maintenanceOf(url).query(`create database ${name} template ${template} strategy file_copy`);
  const database = new URL(url);
  database.pathname = `/${name}`;
  return database.href;
}

/**
 * Ends its connections. Hundreds of databases, of hundreds of files each, slow the file system down
 * for those that follow.
 */
export async function dropDatabase(url: string): Promise<void> {
  const { pathname } = new URL(url);
  const server = new URL("/postgres", url).href;
  await maintenanceOf(server).query(`drop database ${pathname.slice(1)} with (force)`);
}

function requirePostgres(): string {
  const bin = findPostgres();
  if (bin !== undefined) return bin;
  throw new Error(
    "PostgreSQL 15 or later is not installed: apt-get install postgresql, or put its bin folder on the PATH",
  );
}

/** PostgreSQL refuses to run as root, so run it as the user that its package created. */
function runAs(directory: string): Identity {
  if (process.getuid?.() !== 0) return {};
  const idOf = (flag: string): number =>
    Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));
  const [uid, gid] = [idOf("-u"), idOf("-g")];
  chownSync(directory, uid, gid);
  return { uid, gid };
}

async function untilReady(url: string, exitCode: () => number | null): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    const client = new Client(url);
    try {
      await client.connect();
      await client.end();
      return;
    } catch (cause) {
      if (isRefused(cause)) return; // it is ready, but refuses this login
      if (exitCode() !== null || attempt > 600)
        throw new Error("PostgreSQL did not start", { cause });
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
