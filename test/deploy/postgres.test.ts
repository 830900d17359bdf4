// The example configuration of PostgreSQL, applied to a real server.
import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { Client } from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createCertificates } from "../support/certificates.ts";
import { startPostgres } from "../support/postgres.ts";
import type { PostgresServer } from "../support/postgres.ts";
import { makeFolder, runSonde } from "../support/process.ts";
import { findPostgres } from "../support/programs.ts";

const FOLDER = "deploy/postgres";
const PASSWORD = "correct-horse-battery-staple";
const { authority, good, ofStranger } = createCertificates();

const SETUP = [
  `create role sonde login password '${PASSWORD}'`,
  "create database sonde owner sonde",
];

/** Installs the examples as docs/deployment.md says. */
function configure(data: string): void {
  const append = readFileSync(join(data, "postgresql.conf"), "utf8");
  const examples = ["sonde.conf", "tls.conf"];
  for (const name of examples) copyFileSync(join(FOLDER, name), join(data, name));
  const includes = examples.map((name) => `include '${name}'\n`).join("");
  writeFileSync(join(data, "postgresql.conf"), append + includes);
  copyFileSync(join(FOLDER, "pg_hba.conf"), join(data, "pg_hba.conf"));
  writeFileSync(join(data, "server.crt"), good.cert);
  writeFileSync(join(data, "server.key"), good.key, { mode: 0o600 });
  writeFileSync(join(data, "authority.crt"), authority.cert);
  writeFileSync(join(data, "stranger.crt"), ofStranger.cert);
}

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres({ configure, sql: SETUP });
});
afterAll(() => server[Symbol.asyncDispose]());

const urlOf = (user = "sonde", password = PASSWORD): string => {
  const url = new URL(server.url);
  Object.assign(url, { username: user, password, pathname: "/sonde" });
  return url.href;
};

async function query<T>(text: string): Promise<T[]> {
  const client = new Client({ connectionString: urlOf(), ssl: { ca: authority.cert } });
  await client.connect();
  const { rows } = await client.query(text);
  await client.end();
  return rows as T[];
}

// The server would not start with a setting that it does not know.
it("the configuration takes effect", async () => {
  const [settings] = await query(
    `select current_setting('jit') as jit, current_setting('max_locks_per_transaction') as locks,
       current_setting('password_encryption') as passwords, current_setting('ssl') as ssl`,
  );
  expect(settings).toEqual({ jit: "off", locks: "512", passwords: "scram-sha-256", ssl: "on" });
});

it("serves Sonde over TLS, verified", async () => {
  const migrate = (rootCertificate: string) =>
    runSonde(["migrate"], {
      env: {
        SONDE_DATABASE_URL: `${urlOf()}?sslmode=verify-full&sslrootcert=${join(server.data, rootCertificate)}`,
      },
    });
  const { code, stdout, stderr } = await migrate("authority.crt");
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).not.toBe("");
  const other = await migrate("stranger.crt");
  expect([other.code, other.stderr]).toEqual([1, expect.stringContaining("certificate")]);
});

it("refuses everyone else", async () => {
  const attempt = async (url: string, ssl: false | { readonly ca: string }): Promise<string> => {
    const client = new Client({ connectionString: url, ssl });
    try {
      await client.connect();
      return "connected";
    } catch (cause) {
      return (cause as Error).message;
    } finally {
      await client.end().catch(() => undefined);
    }
  };
  const tls = { ca: authority.cert };
  expect(await attempt(urlOf(), tls)).toBe("connected");
  expect(await attempt(urlOf(), false)).toMatch(/no pg_hba.conf entry .* no encryption/);
  expect(await attempt(urlOf("sonde", "wrong"), tls)).toMatch(/password authentication failed/);
  expect(await attempt(urlOf("postgres"), tls)).toMatch(/no pg_hba.conf entry/);
});

it("gets its certificate before it starts with TLS, as docs/deployment.md says", () => {
  const page = readFileSync("docs/deployment.md", "utf8");
  const [, steps = ""] = /```sh\n([^`]*\/tls\.conf [^`]*)```/.exec(page) ?? [];
  expect(steps).toMatch(/server\.crt server\.key .*\n(?:.*\n)*systemctl restart postgresql\n/);
  // Other users can read command lines.
  expect(steps).not.toContain("password '");
});

const RESTORING = /```sh[^\n]*\n([^`]*\npg_restore [^`]*)```/;

it.each(["docs/backup.md", "docs/runbooks/back-up-and-restore.md"])(
  "is restored from a dump as %s says, with the rights that Sonde has",
  async (page) => {
    using folder = makeFolder();
    // Like the example, Sonde reaches only its own database.
    const rules = "host all postgres all trust\nhost sonde sonde all trust\n";
    await using fresh = await startPostgres({
      configure: (data) => writeFileSync(join(data, "pg_hba.conf"), rules),
      sql: SETUP,
    });
    const url = fresh.url.replace("postgres@", "sonde@").replace(/postgres$/, "sonde");
    const options = { folder: folder.path, env: { SONDE_DATABASE_URL: url } };
    expect(await runSonde(["keys", "create", "--owner", "ann"], options)).toMatchObject({
      code: 0,
    });
    const dump = join(folder.path, "sonde.dump");
    const written = (RESTORING.exec(readFileSync(page, "utf8"))?.[1] ?? "")
      .replaceAll("postgres://sonde@db.example.com/sonde", url)
      .replace(/\S*\/sonde\.dump/, dump);
    // This machine may lack the user; here, the role alone makes the administrator.
    const runuser = 'runuser() { shift 3; PGUSER=postgres "$@"; }';
    const script = `${runuser}\npg_dump --format custom --file ${dump} ${url}\n${written}`;
    const { hostname, port } = new URL(url);
    const env = { DATABASE: url, PGHOST: hostname, PGPORT: port };
    const path = [findPostgres(), process.env["PATH"]].join(delimiter);
    execFileSync("bash", ["-euc", script], { env: { ...env, PATH: path }, stdio: "pipe" });
    const restored = await runSonde(["keys", "list"], options);
    expect([restored.code, restored.stdout]).toEqual([0, expect.stringContaining('"owner":"ann"')]);
  },
);
