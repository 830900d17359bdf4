// The database: whether it answers, has the schema of this version, and opens with our master keys.
import { count } from "../model/count.ts";
import { databaseServerOf } from "../model/database-url.ts";
import type { Check } from "./check.ts";
import type { Finding } from "./finding.ts";
import { failure, failureOf, ok, warning } from "./finding.ts";
import { DATABASE, hubDatabase, needHub } from "./sources.ts";
import type { Sources } from "./sources.ts";

const REFUSALS = {
  standby: [
    "it is a standby",
    "let SONDE_DATABASE_URL lead to the primary, or promote this server",
  ],
  "read-only": [
    "default_transaction_read_only is on",
    "turn it off; if its disk was nearly full, make room first",
  ],
} as const;

export const databaseCheck = (sources: Sources): Check => ({
  name: "database",
  needs: DATABASE,
  async run() {
    const { config } = sources;
    needHub(config);
    const { isEncrypted, refusal } = await sources.database();
    if (!config.databaseUrl) return [ok("the embedded database in the data folder is readable")];
    const { host } = databaseServerOf(config.databaseUrl);
    const answers = `PostgreSQL at ${host} answers`;
    const reason = await refusal();
    if (reason) {
      const [cause, advice] = REFUSALS[reason];
      return [failure(`${answers}, but refuses every change: ${cause}`, advice)];
    }
    return [ok(`${answers}, ${isEncrypted ? "over" : "without"} TLS`)];
  },
});

export const migrationsCheck = (sources: Sources): Check => ({
  name: "migrations",
  needs: DATABASE,
  async run() {
    const database = await hubDatabase(sources);
    return [schemaFinding(await database.schema(), sources.version)];
  },
});

export function schemaFinding(
  {
    applied,
    missing,
    unknown,
  }: {
    readonly applied: readonly string[];
    readonly missing: readonly string[];
    readonly unknown: readonly string[];
  },
  version: string,
): Finding {
  const newest = applied.at(-1);
  if (unknown.length > 0)
    return failure(
      `the database has schema ${unknown.at(-1)}, from a newer Sonde: ${version} cannot use it`,
      "run the newer version, or restore a backup: docs/backup.md",
    );
  if (missing.length === 0) return ok(`the schema is ${newest}, that of Sonde ${version}`);
  return failure(
    `the database has ${newest ? `schema ${newest}` : "no schema"}, and Sonde ${version} needs ${missing.at(-1)}`,
    "run `sonde migrate`, or start `sonde serve` with SONDE_MIGRATE=on",
  );
}

export const masterKeyCheck = (sources: Sources): Check => ({
  name: "master key",
  needs: [...DATABASE, "masterKey", "masterKeysOld"],
  async run() {
    const database = await hubDatabase(sources);
    const keys = await database.countKeys();
    const sealer = sources.sealer();
    if (keys === 0) return [ok("nothing is encrypted yet: the first start registers the key")];
    if (!sealer)
      return [
        failure(
          `the secrets in the database are encrypted, and this process has no master key: SONDE_MASTER_KEY is not set, and the data folder has no file master-key`,
          "set SONDE_MASTER_KEY to the key of the other processes, or restore the file from a backup: docs/security.md",
        ),
      ];
    try {
      await database.assertKeysHeld(sealer);
    } catch (cause) {
      return [failureOf(cause)];
    }
    if (keys === 1) return [ok("the master key opens the stored secrets")];
    return [
      warning(
        `the stored secrets are encrypted with ${count(keys, "master key")} (allowed: 1, except during a rotation)`,
        "complete the rotation with `sonde keys rotate-master`: docs/security.md",
      ),
    ];
  },
});
