// TLS to PostgreSQL: a server that cannot be verified is refused, with a message that says what to
// do.
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isUnavailable } from "../../src/model/errors.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { createSealer } from "../../src/runtime/sealer.ts";
import { openStore } from "../../src/store/open-store.ts";
import { openPostgres } from "../../src/store/postgres/postgres.ts";
import { createCertificates } from "../support/certificates.ts";
import { startPostgres } from "../support/postgres.ts";
import type { PostgresServer } from "../support/postgres.ts";
import { oneLine, runSonde, startSonde } from "../support/process.ts";
import { findPostgres } from "../support/programs.ts";

const certificates = createCertificates();
const { authority, good, otherName, expired, ofStranger } = certificates;
const folder = mkdtempSync(join(tmpdir(), "sonde-ca-"));
const caFile = join(folder, "ca.crt");
let postgres: PostgresServer;

beforeAll(async () => {
  writeFileSync(caFile, authority.cert);
  postgres = await startPostgres();
});

afterAll(async () => {
  await postgres[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

function urlWith(parameters: Readonly<Record<string, string>>): string {
  const url = new URL(postgres.url);
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

/** Returns whether the connection is encrypted. */
async function connect(parameters: Readonly<Record<string, string>>, ca?: string) {
  const { kysely } = openPostgres({ url: urlWith(parameters), ca });
  try {
    const encrypted = sql<{ ssl: boolean }>`
      select ssl from pg_stat_ssl where pid = pg_backend_pid()`;
    return (await encrypted.execute(kysely)).rows[0]?.ssl;
  } finally {
    await kysely.destroy();
  }
}

/** Opens the store as the program would at its start. */
const opening = (parameters: Readonly<Record<string, string>>, ca?: string) =>
  openStore({
    location: { url: urlWith(parameters), ca },
    clock: systemClock,
    sealer: createSealer({ current: randomBytes(32) }),
  });

const VERIFIED = { sslmode: "verify-full" };

describe("a server without TLS", () => {
  it("is used unless TLS is asked for", async () => {
    expect(await connect({})).toBe(false);
    expect(await connect({ sslmode: "disable" })).toBe(false);
    await expect(opening(VERIFIED)).rejects.toThrow(
      /^cannot reach PostgreSQL at 127\.0\.0\.1:\d+ over TLS \(The server does not support SSL connections\): turn TLS on at the server \(ssl = on\), or set sslmode=disable /,
    );
    await expect(opening({}, authority.cert)).rejects.toThrow("does not support SSL");
  });
});

describe("a server with TLS", () => {
  it.each([
    ["with the authority of SONDE_DATABASE_CA", VERIFIED, authority.cert],
    ["with SONDE_DATABASE_CA alone", {}, authority.cert],
    ["with the authority in the URL", { ...VERIFIED, sslrootcert: caFile }, undefined],
    ["unverified, where that is asked for", { sslmode: "no-verify" }, undefined],
  ])("is reached %s", async (_, parameters, ca) => {
    await postgres.secure(good);
    expect(await connect(parameters, ca)).toBe(true);
  });

  it.each([
    [
      "of another host",
      otherName,
      /Hostname\/IP does not match certificate's altnames.*name a host of the certificate in SONDE_DATABASE_URL/,
    ],
    ["that has expired", expired, /\(certificate has expired\): renew the server's certificate/],
    [
      "of another authority",
      ofStranger,
      /\(unable to verify the first certificate\): set SONDE_DATABASE_CA to the certificate of the authority/,
    ],
  ])("is refused with a certificate %s", async (_, certificate, message) => {
    await postgres.secure(certificate);
    await expect(opening(VERIFIED, authority.cert)).rejects.toThrow(message);
  });

  it("is verified in modes require and verify-ca too, as in pg, unlike libpq", async () => {
    await postgres.secure(otherName);
    for (const sslmode of ["require", "verify-ca"])
      await expect(opening({ sslmode }, authority.cert)).rejects.toThrow("does not match");
    await postgres.secure(good);
    await expect(opening({ sslmode: "require" })).rejects.toThrow("set SONDE_DATABASE_CA");
  });

  it("is unavailable while its certificate is wrong, and comes back with the right one", async () => {
    await postgres.secure(good);
    const { kysely } = openPostgres({ url: urlWith(VERIFIED), ca: authority.cert });
    const ask = () => sql`select 1`.execute(kysely);
    await ask();
    await postgres.secure(ofStranger);
    await expect(ask()).rejects.toSatisfy(isUnavailable);
    await expect(ask()).rejects.toSatisfy(isUnavailable);
    await postgres.secure(good);
    await ask();
    await kysely.destroy();
  });
});

it("a process uses TLS as its settings say", async () => {
  await postgres.secure(good);
  const url = await postgres.createDatabase();
  const env = { SONDE_DATABASE_URL: url, SONDE_DATABASE_CA_FILE: caFile };
  {
    await using sonde = startSonde(["serve"], { env });
    await sonde.ready();
    await using kysely = openPostgres({ url }).kysely;
    const { rows } = await sql<{ ssl: boolean }>`
      select distinct ssl from pg_stat_ssl join pg_stat_activity using (pid)
      where datname = current_database() and pid <> pg_backend_pid()`.execute(kysely);
    expect(rows).toEqual([{ ssl: true }]);
  }
  await postgres.secure(otherName);
  const { code, stderr } = await runSonde(["serve"], { env });
  expect([code, oneLine(stderr)]).toEqual([
    1,
    expect.stringMatching(
      /^sonde: cannot reach PostgreSQL at \S+ over TLS \(Hostname\/IP does not/,
    ),
  ]);
});

it("the command that sonde backup prints verifies as much as Sonde does", async () => {
  const dump = async (parameters: Readonly<Record<string, string>>) => {
    const env = { SONDE_DATABASE_URL: urlWith(parameters) };
    const { stderr } = await runSonde(["backup", join(folder, "ann's.dump")], { env });
    const command = /`(.*)`/.exec(stderr)?.[1] ?? "";
    const PATH = `${findPostgres()}:${process.env["PATH"]}`;
    return spawnSync("sh", ["-c", command], { encoding: "utf8", env: { PATH } });
  };
  const verified = { sslmode: "require", sslrootcert: caFile };
  await postgres.secure(good);
  expect(await dump(verified)).toMatchObject({ status: 0, stderr: "" });
  await postgres.secure(otherName);
  expect((await dump(verified)).stderr).toMatch(/server certificate for "other.*does not match/);
  expect(await dump({ sslmode: "no-verify" })).toMatchObject({ status: 0, stderr: "" });
});

it("sonde doctor says whether PostgreSQL is reached over TLS, however the URL asks for it", async () => {
  await postgres.secure(good);
  const examine = (parameters: Readonly<Record<string, string>>) =>
    runSonde(["doctor"], { env: { SONDE_DATABASE_URL: urlWith(parameters) } });
  expect((await examine({})).stdout).toContain(" answers, without TLS\n");
  expect((await examine({ sslrootcert: caFile })).stdout).toContain(" answers, over TLS\n");
});

it("names a file of the URL that cannot be read", async () => {
  await expect(opening({ ...VERIFIED, sslrootcert: "/not/there" })).rejects.toThrow(
    "SONDE_DATABASE_URL: cannot read sslrootcert='/not/there' (ENOENT): name a file that this process may read",
  );
});
