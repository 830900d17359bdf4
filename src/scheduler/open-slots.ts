// Opens slots in pages: their runs become pending, or MISSED if they were late when the cursor
// passed the slot. A page is one transaction, which also moves on to the next: it is done once, or
// not at all.
import type { Opening } from "../store/records.ts";
import { missedFor } from "./missed.ts";
import type { Renew, SchedulerParts } from "./parts.ts";

/** Deployments in a page: few enough for a transaction well below 250 ms. */
const PAGE = 1000;

/** Maximum time that a beat spends on late runs: the next one must be on time. */
const LATE_MS = 700;

/** Late slots to read at once: an outage of weeks leaves tens of thousands. */
const LATE_AT_ONCE = 100;

/**
 * Orders the runs that can still start, those of the newest slot first. Returns the time
 * afterwards; undefined if the beat must end.
 */
export async function openSlots(
  options: SchedulerParts,
  start: number,
  renew: Renew,
): Promise<number | undefined> {
  let now: number | undefined = start;
  for (const opening of await options.store.slots.list({ late: false })) {
    now = await openSlot(options, opening, renew);
    if (now === undefined) break;
  }
  return now;
}

/** Records late runs as MISSED, and leaves the rest to the next beat when its time is up. */
export async function recordLateRuns(
  options: SchedulerParts,
  start: number,
  renew: Renew,
): Promise<void> {
  const renewInTime: Renew = async () => {
    const now = await renew();
    // The clock may be set back.
    return now !== undefined && now >= start && now < start + LATE_MS ? now : undefined;
  };
  const { slots } = options.store;
  let left = await slots.countLate();
  options.metrics.lateSlots.set(left);
  for (let page; (page = await slots.list({ late: true, limit: LATE_AT_ONCE })).length > 0;)
    for (const opening of page) {
      if ((await openSlot(options, opening, renewInTime)) === undefined) return;
      options.metrics.lateSlots.set((left -= 1));
    }
}

/** Opens what is left of a slot. Returns the time afterwards; undefined if the beat must end. */
async function openSlot(
  options: SchedulerParts,
  opening: Opening,
  renew: Renew,
): Promise<number | undefined> {
  const { log, metrics } = options;
  let runs = 0;
  let more: number | undefined;
  let now: number | undefined;
  do {
    more = await openPage(options, opening);
    now = await renew();
    runs += more ?? 0;
  } while (more !== undefined && now !== undefined);
  const slot = new Date(opening.slot).toISOString();
  if (opening.late) metrics.missed.inc({ reason: "scheduler_down" }, runs);
  else metrics.runs.inc(runs);
  if (runs > 0 && opening.late) log.warn({ slot, missed: runs }, "slot opened late");
  else if (runs > 0) log.info({ slot, ordered: runs }, "slot opened");
  return now;
}

/** Returns how many runs it ordered or recorded; undefined after the last page. */
const openPage = ({ store }: SchedulerParts, opening: Opening): Promise<number | undefined> =>
  store.transaction(async ({ slots, results }) => {
    const page = await slots.nextPage(opening, PAGE);
    if (!page) return undefined;
    if (!page.late) return slots.order(page);
    const late = await slots.listRuns(page);
    return results.recordUnreported(late.map((run) => missedFor("scheduler_down", run)));
  });
