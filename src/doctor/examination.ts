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
import type { Ground } from "./ground.ts";
import { ledgerCheck } from "./ledger.ts";
import { natsCheck, permissionsCheck, streamsCheck } from "./nats.ts";
import { egressCheck, namesCheck, uplinkCheck } from "./network.ts";
import { processCheck, spoolCheck } from "./process.ts";
import { insightsCheck, schedulerCheck } from "./scheduler.ts";
import { settingsCheck } from "./settings.ts";

export async function examine(ground: Ground, uplinks: readonly string[]): Promise<DoctorReport> {
  const checks = [
    settingsCheck(ground),
    dataFolderCheck(ground),
    diskCheck(ground),
    databaseCheck(ground),
    migrationsCheck(ground),
    masterKeyCheck(ground),
    natsCheck(ground),
    streamsCheck(ground),
    permissionsCheck(ground),
    processCheck(ground),
    clocksCheck(ground),
    schedulerCheck(ground),
    ledgerCheck(ground),
    agentsCheck(ground),
    spoolCheck(ground),
    insightsCheck(ground),
    egressCheck(ground),
    namesCheck(ground),
    uplinkCheck(ground, uplinks),
  ];
  const findings = await runChecks(checks, ground.invalid);
  return {
    version: ground.version,
    time: formatInstant(ground.clock.now()),
    roles: [...ground.config.roles],
    state: worstOf(findings),
    findings,
  };
}
