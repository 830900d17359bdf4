// Every check, in the order in which an operator would look.
import { formatInstant } from "../model/instant.ts";
import { agentsCheck } from "./agents.ts";
import { runChecks } from "./check.ts";
import { clocksCheck } from "./clocks.ts";
import { dataFolderCheck } from "./data-folder.ts";
import { databaseCheck, masterKeyCheck, migrationsCheck } from "./database.ts";
import { diskCheck } from "./disk.ts";
import { worstOf } from "./finding.ts";
import type { DoctorReport } from "./finding.ts";
import { ledgerCheck } from "./ledger.ts";
import { natsCheck, permissionsCheck, streamsCheck } from "./nats.ts";
import { egressCheck, namesCheck, uplinkCheck } from "./network.ts";
import { processCheck, spoolCheck } from "./process.ts";
import { insightsCheck, schedulerCheck } from "./scheduler.ts";
import { settingsCheck } from "./settings.ts";
import type { Sources } from "./sources.ts";

export async function examine(sources: Sources, uplinks: readonly string[]): Promise<DoctorReport> {
  const checks = [
    settingsCheck(sources),
    dataFolderCheck(sources),
    diskCheck(sources),
    databaseCheck(sources),
    migrationsCheck(sources),
    masterKeyCheck(sources),
    natsCheck(sources),
    streamsCheck(sources),
    permissionsCheck(sources),
    processCheck(sources),
    clocksCheck(sources),
    schedulerCheck(sources),
    ledgerCheck(sources),
    agentsCheck(sources),
    spoolCheck(sources),
    insightsCheck(sources),
    egressCheck(sources),
    namesCheck(sources),
    uplinkCheck(sources, uplinks),
  ];
  const findings = await runChecks(checks, sources.invalid);
  return {
    version: sources.version,
    time: formatInstant(sources.clock.now()),
    roles: [...sources.config.roles],
    state: worstOf(findings),
    findings,
  };
}
