// The settings of limits per owner, and of retention.
import { budget, retention, setting } from "./setting.ts";
import { integer } from "./setting-values.ts";

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
  maxManualRuns: setting({
    env: "SONDE_MAX_MANUAL_RUNS",
    default: "100",
    meaning: "Maximum unfinished manual runs per owner",
    allowed: "a whole number from 1 to 500",
    parse: integer(1, 500),
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
