// Puts thousands of calls with results of the last hours directly into a store.
import { callResource } from "../../src/model/call.ts";
import type { ResultCode } from "../../src/model/result.ts";
import { newId } from "../../src/runtime/ids.ts";
import type { Store } from "../../src/store/store.ts";
import { aCall, aReport, aRun } from "./runs.ts";

const HOUR_MS = 3_600_000;
const AT_ONCE = 1000;

/** A call whose number is a multiple of `every` gets this code; the first match applies. */
const RESULTS: readonly (readonly [every: number, code: ResultCode])[] = [
  [17, "HTTP_SERVER_ERROR"],
  [13, "HTTP_CLIENT_ERROR"],
  [11, "MISSED"],
];

export interface ManyCalls {
  readonly count: number;
  /** Hours up to now in which each call ran, once in each. */
  readonly hours: number;
  readonly now: number;
  readonly owner?: string;
}

/** Stores calls named `call 00042 of shop 2`, in the order of their numbers. Returns their ids. */
export async function seedCalls(
  store: Store,
  { count, hours, now, owner = "ann" }: ManyCalls,
): Promise<string[]> {
  const ids = Array.from({ length: count }, () => newId(now));
  for (let at = 0; at < count; at += AT_ONCE) {
    const some = ids.slice(at, at + AT_ONCE);
    await store.transaction(async (within) => {
      for (const [n, id] of some.entries())
        await within.documents.insert(theCall(id, at + n, owner));
    });
    for (let hour = hours - 1; hour >= 0; hour -= 1)
      await recordHour(store, some, at, now - hour * HOUR_MS, owner);
  }
  return ids;
}

function theCall(id: string, n: number, owner: string) {
  const name = `call ${String(n).padStart(5, "0")} of shop ${n % 7}`;
  const document = callResource.create(
    {
      meta: { name, tags: [`shop-${n % 7}`] },
      request: { method: "get", url: `https://shop-${n % 7}.example/items/${n}` },
    },
    { id, owner, now: Date.UTC(2026, 9, 1) },
  );
  return aCall({ id, owner, document, filters: callResource.filters(document) });
}

async function recordHour(
  store: Store,
  ids: readonly string[],
  first: number,
  due_time: number,
  owner: string,
): Promise<void> {
  const runs = ids.map((target_id) => aRun({ target_id, owner, due_time, deployment_id: null }));
  await store.pendingRuns.insert(runs);
  await store.results.record(
    runs.map((run, at) => {
      const n = first + at;
      const [, result = "COMPLETE"] = RESULTS.find(([every]) => n % every === 0) ?? [];
      return aReport(run, { result, total: 20 + (n % 400) });
    }),
  );
}
