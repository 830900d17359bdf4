// `sonde retention run`: removes or counts expired data, and prints one JSON object per kind.
import { hostname } from "node:os";
import type { Command } from "commander";
import { formatInstant } from "../model/instant.ts";
import { systemClock } from "../runtime/clock.ts";
import { examples } from "./command.ts";
import type { Context } from "./command.ts";
import { createProgress } from "./progress.ts";
import { abortOnStop } from "./stop-signal.ts";
import { withStore } from "./with-store.ts";

interface RetentionOptions {
  readonly dryRun?: boolean;
}

export function addRetentionCommands(program: Command, context: Context): void {
  const retention = program.command("retention").description("Remove expired data.");
  retention
    .command("run")
    .description("Remove expired data, as the service does hourly.")
    .option("--dry-run", "only count it")
    .addHelpText("after", examples("sonde retention run --dry-run", "sonde retention run"))
    .action((options: RetentionOptions) => runRetention(context, options));
}

const STOPPED = "stopped: run it again to remove the rest";

/** The service may keep running. A signal ends it after the current batch. */
async function runRetention(
  { config, print }: Context,
  { dryRun = false }: RetentionOptions,
): Promise<void> {
  const settings = config();
  using stopping = abortOnStop(() => STOPPED);
  const { removeExpired } = await import("../aggregator/retention.ts");
  const { retentionOf } = await import("../compose/store.ts");
  await withStore(settings, async (store) => {
    const label = dryRun ? "counting" : "removing";
    const progress = createProgress({ label, total: undefined, unit: "rows" });
    const outcome = await removeExpired({
      store,
      clock: systemClock,
      days: retentionOf(settings),
      holder: `${hostname()}-${process.pid}-command`,
      signal: stopping.signal,
      dryRun,
      onBatch: (rows) => progress.advance(rows),
      onRemoved({ kind, rows, oldestKept }) {
        const oldest_kept = oldestKept === null ? null : formatInstant(oldestKept);
        const count = dryRun ? { would_remove: rows } : { removed: rows };
        progress.hide();
        print(`${JSON.stringify({ kind, ...count, oldest_kept })}\n`);
      },
    }).finally(() => progress.end());
    if (outcome === "held elsewhere")
      throw new Error("another process is removing expired data: try again when it is done");
    if (outcome === "stopped") throw new Error(STOPPED);
  });
}
