// The example configuration of PostgreSQL, applied to a real server.
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createCertificates } from "../support/certificates.ts";
import { startPostgres } from "../support/postgres.ts";
import type { PostgresServer } from "../support/postgres.ts";
import { runSonde } from "../support/process.ts";

const FOLDER = "deploy/postgres";
const PASSWORD = "correct-horse-battery-staple";
const { authority, good, ofStranger } = createCertificates();

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
  server = await startPostgres({
    configure,
    sql: [`create role sonde login password '${PASSWORD}'`, "create database sonde owner sonde"],
  });
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
