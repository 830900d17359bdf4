// The metric of the expiry of a process's credentials.
import { X509Certificate } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { registerCredentialExpiry } from "../../src/compose/credential-expiry.ts";
import { loadConfig } from "../../src/config/config.ts";
import type { Environment } from "../../src/config/config.ts";
import { createRegistry, renderMetrics } from "../../src/runtime/metrics.ts";
import { createCertificates } from "../support/certificates.ts";
import { makeFolder } from "../support/process.ts";

const { authority, good, expired } = createCertificates();
const TOKEN = 1_800_000_000;

async function expiriesOf(env: Environment): Promise<Record<string, number>> {
  const registry = createRegistry({ version: "1.2.3" });
  registerCredentialExpiry(registry, loadConfig(env), () => TOKEN * 1000);
  const samples = (await renderMetrics(registry, [])).matchAll(
    /^sonde_credential_expiry_timestamp_seconds\{credential="(\w+)"\} (\S+)$/gm,
  );
  return Object.fromEntries([...samples].map(([, name, value]) => [name, Number(value)]));
}

const expiryOf = ({ cert }: { readonly cert: string }): number =>
  new X509Certificate(cert).validToDate.getTime() / 1000;

it("has the certificates for PostgreSQL, those in the files of its URL too", async () => {
  using folder = makeFolder();
  const [ca, cert, broken] = ["ca.crt", "client.crt", "broken.crt"].map((name) =>
    join(folder.path, name),
  );
  writeFileSync(String(ca), expired.cert + authority.cert);
  writeFileSync(String(cert), good.cert);
  writeFileSync(String(broken), authority.cert.replace("MI", "XX"));
  const url = `postgres://db/sonde?sslmode=verify-full&sslcert=${cert}`;
  const files = { database_certificate: expiryOf(good), database_ca: expiryOf(expired) };
  const token = { token: TOKEN };
  expect(await expiriesOf({ SONDE_DATABASE_URL: `${url}&sslrootcert=${ca}` })).toEqual({
    ...files,
    ...token,
  });
  expect(await expiriesOf({ SONDE_DATABASE_URL: url, SONDE_DATABASE_CA: authority.cert })).toEqual({
    ...files,
    database_ca: expiryOf(authority),
    ...token,
  });
  expect(await expiriesOf({ SONDE_DATABASE_URL: `${url}&sslrootcert=${broken}` })).toEqual({
    database_certificate: files.database_certificate,
    ...token,
  });
});

it("reads no file of a database that the process does not use", async () => {
  const env = {
    SONDE_ROLES: "agent",
    SONDE_NATS_URL: "nats://hub",
    SONDE_MASTER_KEY: "5a".repeat(32),
    SONDE_DATABASE_URL: "postgres://db/sonde?sslcert=/not/there",
  };
  expect(await expiriesOf(env)).toEqual({ token: TOKEN });
});
