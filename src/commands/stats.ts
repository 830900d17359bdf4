// `sonde stats rebuild`: repairs statistics that differ from their results, and prints each as a
// JSON object.
import type { Command } from "commander";
import { count } from "../model/count.ts";
import { invalid } from "../model/errors.ts";
import { formatPeriodTime } from "../model/instant.ts";
import { show } from "../model/validate.ts";
import { systemClock } from "../runtime/clock.ts";
import type { Store } from "../store/store.ts";
import { examples, say } from "./command.ts";
import type { Context } from "./command.ts";
import { spanIn } from "./option-values.ts";
import type { SpanOptions } from "./option-values.ts";
import { createProgress } from "./progress.ts";
import { addStatsGet } from "./stats-get.ts";
import { audit, withStore } from "./with-store.ts";

interface RebuildOptions extends SpanOptions {
  readonly call?: string;
}

export function addStatCommands(program: Command, context: Context): void {
  const stats = program
    .command("stats")
    .description("Show and repair a call's statistics by period.");
  addStatsGet(stats, context);
  stats
    .command("rebuild")
    .description(
      "Repair statistics that differ from their results; print each as a JSON object. On the hub, with its settings.",
    )
    .option("--from <time>", "check from this ISO 8601 time on (default: all)")
    .option("--to <time>", "check up to this ISO 8601 time (default: all)")
    .option("--call <id>", "check only this call")
    .addHelpText("after", examples("sonde stats rebuild", "sonde stats rebuild --from 2026-10-01"))
    .action((options: RebuildOptions) => rebuild(context, options));
}

/** The service may keep running. A signal ends it between two repairs. */
async function rebuild({ config, print }: Context, options: RebuildOptions): Promise<void> {
  const span = spanIn(options);
  const { daysToCheck, rebuildStats } = await import("../aggregator/rebuild-stats.ts");
  await withStore(config(), async (store) => {
    const callIds = await callsFor(store, options.call);
    const object_id = options.call ?? "";
    await audit(store, { action: "update", kind: "statistics", object_id });
    const total = await daysToCheck(store, span, options.call);
    const progress = createProgress({ label: "checking", total, unit: "days" });
    const { checked, differed } = await rebuildStats({
      store,
      clock: systemClock,
      span,
      callIds,
      onDay: () => progress.advance(1),
      onRepaired({ result: type, time, ...place }, fields) {
        progress.hide();
        print(`${JSON.stringify({ ...place, time: formatPeriodTime(time), type, fields })}\n`);
      },
    }).finally(() => progress.end());
    say(`${count(checked, "period")} checked, ${differed} differed`);
  });
}

async function callsFor(store: Store, call: string | undefined): Promise<string[]> {
  const all = await store.statChecks.calls();
  if (call === undefined) return all;
  if (!all.includes(call))
    throw invalid(
      `--call: no call ${show(call)} has results or statistics; without --call, all are checked`,
    );
  return [call];
}
