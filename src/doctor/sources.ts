// What checks read: the settings, and inspections that change nothing.
import type { BusFacts } from "../bus/bus-facts.ts";
import { isAgent, isHub } from "../config/config.ts";
import type { Config, ReadConfig } from "../config/config.ts";
import type { Clock } from "../runtime/clock.ts";
import type { OpsAnswer } from "../runtime/ops-client.ts";
import type { Sealer } from "../runtime/sealer.ts";
import type { Inspection } from "../store/inspection.ts";
import { NotApplicable } from "./check.ts";

/** `openSources` in `compose/inspection.ts` opens them. */
export interface Sources extends ReadConfig {
  readonly version: string;
  readonly clock: Clock;
  /** The files that secret settings are read from, by the name of the variable. */
  readonly settingFiles: ReadonlyMap<string, string>;
  /** Returns the same inspection at each call. Rejects with one line for the operator. */
  readonly database: () => Promise<Inspection>;
  /** Returns the same facts at each call. Rejects with one line for the operator. */
  readonly bus: () => Promise<BusFacts>;
  /** What the ops server of a process with these settings answers. */
  readonly ops: (path: string) => Promise<OpsAnswer>;
  /**
   * Returns a sealer with the configured master keys; undefined without any. Throws for a file
   * without a key.
   */
  readonly sealer: () => Sealer | undefined;
  /** Returns the contents of each spool in the data folder. */
  readonly spools: () => Promise<readonly SpoolFacts[]>;
}

export interface SpoolFacts {
  readonly file: string;
  readonly reports: number;
  readonly bytes: number;
}

/** The settings that a check of the database needs. */
export const DATABASE = ["databaseUrl", "databaseCa", "dataDir", "roles"] as const;

/** Throws `NotApplicable` on a machine that runs only agents. */
export function needHub(config: Config): void {
  if (!isHub(config))
    throw new NotApplicable("does not apply: a machine that runs only agents has no database");
}

/** Throws `NotApplicable` on a machine without an agent. */
export function needAgent(config: Config): void {
  if (!isAgent(config)) throw new NotApplicable("does not apply: no agent runs with these roles");
}

/** Throws `NotApplicable` without NATS. */
export function needNats(config: Config): void {
  if (!config.natsUrls)
    throw new NotApplicable("does not apply: the bus is in-process, without NATS");
}

/**
 * Rejects with `NotApplicable` on a machine without a database, if the database cannot be read, or
 * if its schema is not that of this version.
 */
export async function readableDatabase(sources: Sources): Promise<Inspection> {
  const database = await hubDatabase(sources);
  const { missing, unknown } = await database.schema();
  if (missing.length + unknown.length === 0) return database;
  throw new NotApplicable("not checked, because the database schema is not that of this Sonde");
}

/** Like `readableDatabase`, with any schema. */
export async function hubDatabase(sources: Sources): Promise<Inspection> {
  needHub(sources.config);
  return sources.database().catch((cause: unknown) => {
    throw new NotApplicable("not checked, because the database cannot be read", { cause });
  });
}

/** Rejects with `NotApplicable` without NATS, or if NATS cannot be reached. */
export async function reachableBus(sources: Sources): Promise<BusFacts> {
  needNats(sources.config);
  return sources.bus().catch((cause: unknown) => {
    throw new NotApplicable("not checked, because NATS cannot be reached", { cause });
  });
}
