// `sonde audit list`: prints the audit trail, one JSON object per line, oldest first.
import type { Command } from "commander";
import { formatInstant } from "../model/instant.ts";
import { examples } from "./command.ts";
import type { Context } from "./command.ts";
import { actorIn, addOwnerOptions, instantOf, wholeNumberOf } from "./option-values.ts";
import type { OwnerOptions } from "./option-values.ts";
import { withStore } from "./with-store.ts";

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 100_000;

interface AuditOptions extends OwnerOptions {
  readonly since?: number;
  readonly limit: number;
}

export function addAuditCommands(program: Command, context: Context): void {
  const trail = program.command("audit").description("Read the audit trail.");
  const list = trail
    .command("list")
    .description("Print who changed what and when, one JSON object per line, oldest first.")
    .option("--since <time>", "from this ISO 8601 time on (default: all)", instantOf("--since"))
    .option(
      "--limit <number>",
      "maximum entries to print",
      wholeNumberOf("--limit", 1, MAX_LIMIT),
      DEFAULT_LIMIT,
    );
  addOwnerOptions(list, "only entries about this owner")
    .addHelpText("after", examples("sonde audit list --since 2026-10-01 --owner ann"))
    .action((options: AuditOptions) => listAudit(context, options));
}

async function listAudit({ config, print }: Context, options: AuditOptions): Promise<void> {
  const { since = 0, limit } = options;
  const of = actorIn(options);
  await withStore(config(), async (store) => {
    for (const { time, ...entry } of await store.audit.list({ since, of, limit }))
      print(`${JSON.stringify({ time: formatInstant(time), ...entry })}\n`);
  });
}
