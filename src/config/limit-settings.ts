// The settings of limits per owner, and of retention.
import { wholeNumber } from "./setting.ts";

/** A limit per owner. */
const budget = (env: string, fallback: string, meaning: string) =>
  wholeNumber({ env, default: fallback, meaning, range: [1, 999_999_999] });

/** Days to keep something. */
const retention = (env: string, fallback: string, what: string) =>
  wholeNumber({
    env,
    default: fallback,
    meaning: `Days to keep ${what}; see [Retention](#retention)`,
    range: [1, 36_500],
    unit: "days",
  });

export const LIMIT_SETTINGS = {
  maxRequestsPerMinute: budget(
    "SONDE_MAX_REQUESTS_PER_MINUTE",
    "30000",
    "Maximum requests per minute and key, in each process that serves the API",
  ),
  maxObjects: budget("SONDE_MAX_OBJECTS", "100000", "Maximum objects of each kind per owner"),
  maxDefinitionsMiB: budget(
    "SONDE_MAX_DEFINITIONS_MIB",
    "1024",
    "Maximum total size of an owner's objects, as stored, in MiB",
  ),
  maxKeys: budget("SONDE_MAX_KEYS", "1000", "Maximum active keys that the API issues per owner"),
  maxManualRuns: wholeNumber({
    env: "SONDE_MAX_MANUAL_RUNS",
    default: "100",
    meaning: "Maximum unfinished manual runs per owner",
    range: [1, 500],
  }),
  maxWaitingMiB: budget(
    "SONDE_MAX_WAITING_MIB",
    "64",
    "Maximum total size of an owner's runs that wait for an agent, in MiB; the first 4 KiB of each call do not count",
  ),
  retentionDetails: retention(
    "SONDE_RETENTION_DETAILS",
    "14",
    "details of results (request, response, body)",
  ),
  retentionRaw: retention("SONDE_RETENTION_RAW", "90", "results and RAW statistics"),
  retentionHours: retention("SONDE_RETENTION_HOURS", "400", "HOUR statistics and percentiles"),
  retentionAudit: retention("SONDE_RETENTION_AUDIT", "400", "entries of the audit trail"),
};
