// What `sonde backup` says about a database on PostgreSQL.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { runCommand } from "../../src/commands/command-line.ts";
import type { Environment } from "../../src/config/config.ts";
import { createCertificates } from "../support/certificates.ts";
import { makeFolder } from "../support/process.ts";

const { authority, good } = createCertificates();
const folder = makeFolder();
const write = (name: string, content: string): string => {
  const path = join(folder.path, name);
  writeFileSync(path, content);
  return path;
};
const ca = write("ca.crt", authority.cert);
const cert = write("client.crt", good.cert);
const key = write("client.key", good.key);
const root = `sslrootcert=${encodeURIComponent(ca)}`;

afterAll(() => folder[Symbol.dispose]());

const advice = (file: string, env: Environment): Promise<string> =>
  runCommand(["backup", file], env, () => undefined).then(String, ({ message }) => message);

describe("sonde backup of PostgreSQL", () => {
  it.each<[string, string, Environment, string]>([
    ["without TLS", "", {}, ""],
    ["with TLS turned off", "?sslmode=disable", {}, "?sslmode=disable"],
    ["of a public authority", "?sslmode=require", {}, "?sslmode=verify-full&sslrootcert=system"],
    ["by another parameter", "?ssl=true", {}, "?sslmode=verify-full&sslrootcert=system"],
    ["that nothing verifies", `?sslmode=no-verify&${root}`, {}, "?sslmode=require"],
    ["of an authority in the URL", `?${root}`, {}, `?sslmode=verify-full&${root}`],
    [
      "of the authority in a file",
      "?sslmode=verify-ca&sslrootcert=/not/this",
      { SONDE_DATABASE_CA_FILE: ca },
      `?sslmode=verify-full&${root}`,
    ],
    [
      "with a client certificate",
      `?sslmode=verify-full&sslcert=${cert}&sslkey=${key}`,
      {},
      `?sslmode=verify-full&sslrootcert=system&sslcert=${encodeURIComponent(cert)}&sslkey=${encodeURIComponent(key)}`,
    ],
    [
      "with parameters that libpq lacks",
      "?statement_timeout=5&options=-c%20a%3Db&uselibpqcompat=true&password=s3cret&host=db2",
      {},
      "?options=-c%20a%3Db&host=db2",
    ],
  ])("prints a command that verifies as Sonde does: %s", async (_, given, env, parameters) => {
    const url = `postgres://ann@db.test/sonde${given}`;
    const said = await advice("/b.dump", { ...env, SONDE_DATABASE_URL: url });
    const named = `postgres://ann@db.test/sonde${parameters}`;
    const word = parameters === "" ? named : `'${named}'`;
    expect(said).toBe(
      `the database is PostgreSQL: back it up with \`pg_dump --format=custom --file=/b.dump ${word}\`; see docs/backup.md`,
    );
  });

  it("asks for a file with the authority that is set as text", async () => {
    const env = {
      SONDE_DATABASE_URL: "postgres://db.test/sonde",
      SONDE_DATABASE_CA: authority.cert,
    };
    expect(await advice("b.dump", env)).toBe(
      "the database is PostgreSQL: write SONDE_DATABASE_CA to a file ca.crt, and back it up with `pg_dump --format=custom --file=b.dump 'postgres://db.test/sonde?sslmode=verify-full&sslrootcert=ca.crt'`; see docs/backup.md",
    );
  });

  it("quotes the name of the file", async () => {
    const env = { SONDE_DATABASE_URL: "postgres://db.test/sonde" };
    expect(await advice("Ann's $(b).dump", env)).toContain(
      String.raw`--file='Ann'\''s $(b).dump' postgres://db.test/sonde`,
    );
  });
});
