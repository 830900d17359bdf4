// `sonde stats rebuild`: repairs statistics that differ from their results, and prints each as a
// JSON object.
import { daysToCheck, rebuildStats } from "../aggregator/rebuild-stats.ts";
import { invalid } from "../model/errors.ts";
import { formatPeriodTime } from "../model/instant.ts";
import { show } from "../model/validate.ts";
import { systemClock } from "../runtime/clock.ts";
import type { Store } from "../store/store.ts";
import { audit, spanIn, withStore } from "./command.ts";
import type { CommandInput } from "./command.ts";
import { createProgress } from "./progress.ts";

/** The service may keep running. A signal ends it between two repairs. */
export async function rebuild({ config, values, print }: CommandInput): Promise<void> {
  const span = spanIn(values);
  await withStore(config, async (store) => {
    const callIds = await callsFor(store, values.call);
    const object_id = values.call ?? "";
    await audit(store, { action: "update", kind: "statistics", object_id });
    const total = await daysToCheck(store, span, values.call);
    const progress = createProgress({ label: "checking", total, unit: "days" });
    const { checked, differed } = await rebuildStats({
      store,
      clock: systemClock,
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
