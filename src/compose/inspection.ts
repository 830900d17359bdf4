// Inspects the configured parts without changes: creates no folder, key, stream or consumer, and
// migrates nothing.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { spoolSize } from "../agent/reporting/spool-size.ts";
import type { BusFacts } from "../bus/bus-facts.ts";
import { isHub, settingFiles } from "../config/config.ts";
import type { Config, Environment, ReadConfig } from "../config/config.ts";
import type { Sources, SpoolFacts } from "../doctor/sources.ts";
import { systemClock } from "../runtime/clock.ts";
import { existingDataDir } from "../runtime/data-dir.ts";
import { createLogger } from "../runtime/logger.ts";
import { readSamples } from "../runtime/metric-samples.ts";
import { askOps } from "../runtime/ops-client.ts";
import type { OpsAnswer } from "../runtime/ops-client.ts";
import type { Inspection } from "../store/inspection.ts";
import { openInspection } from "../store/inspection.ts";
import { takeSnapshot } from "../status/snapshot.ts";
import type { Snapshot } from "../status/snapshot.ts";
import { VERSION } from "../version.ts";
import { natsSettingsOf, streamsOf } from "./bus.ts";
import { databaseLocationOf, existingSealerOf } from "./store.ts";

/** Disposing closes what `sources` has opened. */
export function openSources(
  read: ReadConfig,
  env: Environment,
): AsyncDisposable & { readonly sources: Sources } {
  const { config } = read;
  let database: Promise<Inspection> | undefined;
  let bus: Promise<BusFacts> | undefined;
  const ops = (path: string): Promise<OpsAnswer> => askOps(config, path);
  return {
    sources: {
      ...read,
      version: VERSION,
      clock: systemClock,
      settingFiles: settingFiles(env),
      database: () => (database ??= inspectStore(config)),
      bus: () => (bus ??= inspectBus(config)),
      ops,
      sealer: () => existingSealerOf(config, existingDataDir(config.dataDir)),
      spools: () => spoolsOf(config, ops),
    },
    async [Symbol.asyncDispose]() {
      const opened = await database?.catch(() => undefined);
      await opened?.close();
    },
  };
}

/** Disposing closes what `take` has opened. */
export function openStatus(config: Config): AsyncDisposable & { take: () => Promise<Snapshot> } {
  let opened: Promise<Inspection> | undefined;
  const close = async (): Promise<void> => {
    const database = await opened?.catch(() => undefined);
    opened = undefined;
    await database?.close();
  };
  const database = isHub(config) ? () => (opened ??= inspectStore(config)) : undefined;
  const ops = (path: string): Promise<OpsAnswer> => askOps(config, path);
  return {
    async take() {
      const snapshot = await takeSnapshot({
        version: VERSION,
        config,
        clock: systemClock,
        database,
        ops,
      });
      // Closed, to be reopened: a service may open the file meanwhile; a server may be back.
      if (!config.databaseUrl || typeof snapshot.service === "string") await close();
      return snapshot;
    },
    [Symbol.asyncDispose]: close,
  };
}

/** Shorter than a check's limit: the server then ends statements that nobody waits for. */
const STATEMENT_SECONDS = 10;

/** Opens the configured store for reading only. */
const inspectStore = (config: Config): Promise<Inspection> =>
  openInspection({
    location: databaseLocationOf(config, existingDataDir(config.dataDir), STATEMENT_SECONDS),
    clock: systemClock,
  });

async function inspectBus(config: Config): Promise<BusFacts> {
  const { inspectNats } = await import("../bus/nats/inspection.ts");
  return inspectNats({
    ...natsSettingsOf(isHub(config) ? { ...config, streams: streamsOf(config) } : config),
    name: "sonde doctor",
    log: createLogger("silent"),
  });
}

/** Asks the running agent, which has locked its spools; without one, reads the files. */
async function spoolsOf(
  { dataDir }: Config,
  ops: (path: string) => Promise<OpsAnswer>,
): Promise<SpoolFacts[]> {
  const metrics = await ops("/metrics").catch(() => undefined);
  const samples = metrics && readSamples(metrics.text);
  const reports = samples?.sum("sonde_agent_spooled_reports");
  const bytes = samples?.sum("sonde_agent_spool_bytes") ?? 0;
  if (reports !== undefined) return [{ file: `the spool in ${dataDir}`, reports, bytes }];
  const names = existsSync(dataDir) ? readdirSync(dataDir) : [];
  const files = names.filter((name) => /^spool(?:-\d+)?\.db$/.test(name)).toSorted();
  return files.map((name) => join(dataDir, name)).map((file) => ({ file, ...spoolSize(file) }));
}
