// `sonde insights compute`: recomputes the reports of closed weeks and months, and prints one JSON
// object for each changed report.
import { isDeepStrictEqual } from "node:util";
import type { Command } from "commander";
import { count } from "../model/count.ts";
import { invalid, isUnavailable, notFound } from "../model/errors.ts";
import { closedWithin, INSIGHT_DELAY_MS, insightId } from "../model/insight.ts";
import type { InsightKey } from "../model/insight.ts";
import { formatPeriodTime } from "../model/instant.ts";
import type { TimeSpan } from "../model/stat-check.ts";
import { show } from "../model/validate.ts";
import type { Store } from "../store/store.ts";
import { examples, say } from "./command.ts";
import type { Context } from "./command.ts";
import { addInsightsRead } from "./insights-read.ts";
import { spanIn } from "./option-values.ts";
import type { SpanOptions } from "./option-values.ts";
import { createProgress } from "./progress.ts";
import { withStore } from "./with-store.ts";

interface ComputeOptions extends SpanOptions {
  readonly call?: string;
}

export function addInsightCommands(program: Command, context: Context): void {
  const insights = program
    .command("insights")
    .description("Show and recompute the scores of calls.");
  addInsightsRead(insights, context);
  insights
    .command("compute")
    .description("Recompute the reports of closed weeks and months. On the hub, with its settings.")
    .requiredOption("--from <time>", "a time such as 2026-10-01, in or before the first period")
    .requiredOption("--to <time>", "a time such as 2026-11-01, in or after the last period")
    .option("--call <id>", "only the reports of this call")
    .addHelpText("after", examples("sonde insights compute --from 2026-10-01 --to 2026-11-01"))
    .action((options: ComputeOptions) => computeInsights(context, options));
}

/**
 * Computes the reports of every closed period that overlaps the span from `from` (inclusive) to
 * `to` (exclusive). The last of concurrent computations of a report includes all results that the
 * others counted.
 */
async function computeInsights({ config, print }: Context, options: ComputeOptions): Promise<void> {
  const span = spanIn(options);
  await withStore(config(), async (store) => {
    const keys = await keysOf(store, span, options.call);
    const counts = await computeAll(store, keys, print);
    const parts = Object.entries(counts).filter(([, count]) => count > 0);
    const text = parts.map(([what, count]) => `${count} ${what}`).join(", ");
    say(`${count(keys.length, "report")}: ${text === "" ? "no call ran" : text}`);
    if (counts.failed > 0)
      throw new Error(
        `${count(counts.failed, "report")} could not be computed; the service will retry`,
      );
  });
}

/** Returns the keys of the reports, oldest period first. */
async function keysOf(
  store: Store,
  { from, to }: TimeSpan,
  callId: string | undefined,
): Promise<InsightKey[]> {
  if (callId !== undefined && !(await store.documents.get("call", callId)))
    throw notFound(`call ${show(callId)}`);
  const until = (await store.now()) - INSIGHT_DELAY_MS;
  const periods = closedWithin(from, to, until);
  if (periods.length === 0)
    throw invalid(
      `no week or month between ${formatPeriodTime(from)} and ${formatPeriodTime(to)} closed before ${formatPeriodTime(until)}: a report is computed ten minutes after its period`,
    );
  const first = (await store.insights.firstDay()) ?? until;
  const keys: InsightKey[] = [];
  for (const { kind, start } of periods.filter(({ end }) => end > first))
    for (const call_id of await store.insights.callsIn({ kind, start }, callId))
      keys.push({ call_id, kind, start });
  return keys;
}

async function computeAll(store: Store, keys: readonly InsightKey[], print: Context["print"]) {
  const { settleInsight } = await import("../aggregator/compute-insight.ts");
  const counts = { changed: 0, unchanged: 0, "kept (results or call removed)": 0, failed: 0 };
  const progress = createProgress({ label: "insights", total: keys.length, unit: "reports" });
  for (const key of keys) {
    const before = await store.insights.measures(key);
    try {
      const settled = await settleInsight(store, await store.insights.renewMark(key));
      const after = await store.insights.measures(key);
      if (!isDeepStrictEqual(after, before)) {
        counts.changed += 1;
        const [score_before, score_after] = [before?.score ?? null, after?.score ?? null];
        progress.hide();
        print(`${JSON.stringify({ id: insightId(key), score_before, score_after })}\n`);
      } else if (settled === "call deleted" || settled === "results removed")
        counts["kept (results or call removed)"] += 1;
      else counts.unchanged += 1;
    } catch (err) {
      if (isUnavailable(err)) throw err;
      counts.failed += 1;
      progress.hide();
      say(`${insightId(key)}: ${(err as Error).message}`);
    }
    progress.advance(1);
  }
  progress.end();
  return counts;
}
