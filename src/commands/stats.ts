// `sonde stats rebuild`: repairs statistics that are not those of their results, and prints each
// that differed as a JSON object.
import { rebuildStats } from "../aggregator/rebuild-stats.ts";
import { invalid } from "../model/errors.ts";
import { formatPeriodTime, parseInstant } from "../model/instant.ts";
import type { TimeSpan } from "../model/stat-check.ts";
import { show } from "../model/validate.ts";
import type { Store } from "../store/store.ts";
import { audit, withStore } from "./command.ts";
import type { CommandInput } from "./command.ts";
import { createProgress } from "./progress.ts";

/** The service may keep running. A signal ends it between two repairs. */
export async function rebuild({ config, values, print }: CommandInput): Promise<void> {
  const span = spanIn(values);
  await withStore(config, async (store) => {
    const callIds = await callsFor(store, values.call);
    const object_id = values.call ?? "";
    await audit(store, { action: "update", kind: "statistics", object_id });
    const total = await store.statChecks.countDays(span, values.call);
    const progress = createProgress({ label: "checking", total, unit: "days" });
    const { checked, differed } = await rebuildStats({
      store,
      span,
      callIds,
      onDay: () => progress.advance(1),
      onRepaired({ result: type, time, ...place }, fields) {
        print(`${JSON.stringify({ ...place, time: formatPeriodTime(time), type, fields })}\n`);
      },
    }).finally(() => progress.end());
    process.stderr.write(`${checked} periods checked, ${differed} differed\n`);
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

/** From --from to --to; everything by default. Throws for what is no time, or no span. */
function spanIn({ from: start, to: end }: CommandInput["values"]): TimeSpan {
  const from = start === undefined ? 0 : instantIn("from", start);
  const to = end === undefined ? Number.MAX_SAFE_INTEGER : instantIn("to", end);
  if (from < to) return { from, to };
  throw invalid(`--to: ${show(end)} is not after --from ${show(start ?? "1970-01-01")}`);
}

function instantIn(option: string, text: string): number {
  const time = parseInstant(text);
  if (time !== undefined) return time;
  throw invalid(`--${option}: ${show(text)} is not an ISO 8601 date or date-time`);
}
