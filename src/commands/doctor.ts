// `sonde doctor`: checks everything that Sonde needs on this machine, and says what is wrong and
// how to fix it. It changes nothing.
import type { Command } from "commander";
import { readConfig } from "../config/config.ts";
import { examples } from "./command.ts";
import type { Context } from "./command.ts";

export function addDoctorCommand(program: Command, context: Context): void {
  program
    .command("doctor")
    .description("Find what is wrong and how to fix it. Changes nothing.")
    .option("--roles <names>", "roles of the process, comma-separated (default: SONDE_ROLES)")
    .option("--json", "print one JSON object")
    .addHelpText("after", "\nExit code: 0 all is well, 1 warnings, 2 failures.")
    .addHelpText("after", examples("sonde doctor", "sonde doctor --roles agent --json"))
    .action((options: DoctorOptions) => runDoctor(context, options));
}

interface DoctorOptions {
  readonly roles?: string;
  readonly json?: true;
}

async function runDoctor(
  { environment, print, exitWith }: Context,
  { roles, json }: DoctorOptions,
): Promise<void> {
  // Loaded here: the other commands start in half the time without it.
  const { openSources } = await import("../compose/inspection.ts");
  const { uplinkCheckOf } = await import("../compose/network.ts");
  const { examine } = await import("../doctor/examination.ts");
  const { EXIT_CODES } = await import("../doctor/finding.ts");
  const { tableOf } = await import("../doctor/table.ts");
  const read = readConfig(environment, { SONDE_ROLES: roles });
  await using open = openSources(read, environment);
  const report = await examine(open.sources, uplinkCheckOf(read.config));
  print(json ? `${JSON.stringify(report, null, 2)}\n` : tableOf(report, process.stdout.columns));
  exitWith(EXIT_CODES[report.state]);
}
