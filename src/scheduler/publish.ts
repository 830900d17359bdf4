// Publishes pending runs: new ones, and those left behind by a former scheduler. A workflow's run
// that overlaps the previous one is MISSED instead.
import type { Dispatcher } from "../dispatch/dispatch.ts";
import { DEPLOYMENT_DELETED, unableToRun } from "../dispatch/build-tick.ts";
import { PUBLISH_AHEAD_MS, dispatch } from "../dispatch/dispatch.ts";
import { halvesOf } from "../model/chunks.ts";
import { isFull, isUnavailable } from "../model/errors.ts";
import { parseInstant } from "../model/instant.ts";
import { absenceOf } from "../model/missed.ts";
import { allDone } from "../runtime/all-done.ts";
import type { PendingRun, UnpublishedRun } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import { missedFor, recordMissed } from "./missed.ts";
import type { Renew, SchedulerParts } from "./parts.ts";

const PAGE = 1000;
/** One is read, one built, and one waits for the bus. */
const PAGES_AT_ONCE = 3;

/** The API publishes a manual run or holds it back; if it has done neither by then, it failed. */
const ORDERER_GRACE_MS = 5000;

export interface PublishOptions extends SchedulerParts {
  readonly dispatcher: Dispatcher;
}

/** Publishes page by page. False if some runs are left for later. */
export async function publishPending(
  options: PublishOptions,
  now: number,
  renew: Renew,
): Promise<boolean> {
  const { store, log } = options;
  const list = (after?: PendingRun) =>
    store.pendingRuns.listUnpublished(now + PUBLISH_AHEAD_MS, PAGE, after);
  let isLeader = true;
  async function* readPages() {
    for (let page = await list(); page.length > 0; page = await list(page.at(-1))) {
      yield page;
      isLeader = (await renew()) !== undefined;
      if (!isLeader) return;
    }
  }
  const pages = readPages();
  const publishPages = async (): Promise<void> => {
    for await (const page of pages)
      await publishAll(options, await withoutDeleted(options, ours(page, now)), now);
  };
  try {
    await allDone(Array.from({ length: PAGES_AT_ONCE }, publishPages));
    return isLeader;
  } catch (err) {
    if (!isUnavailable(err)) throw err;
    if (!isFull(err)) log.warn({ err }, "ticks not published; retrying"); // the bus logs that once
    return false;
  }
}

const ours = (page: readonly UnpublishedRun[], now: number): UnpublishedRun[] =>
  page.filter(
    (run) =>
      run.trigger === "SCHEDULE" || run.held_back || run.trigger_time < now - ORDERER_GRACE_MS,
  );

/** A run that cannot be published must not hold up the others; it ends as MISSED. */
async function publishAll(
  options: PublishOptions,
  runs: readonly PendingRun[],
  now: number,
): Promise<void> {
  try {
    await dispatch(options.dispatcher, await withoutOverlapped(options, runs, now), now);
  } catch (err) {
    if (isFull(err)) await recordMissed(options, tooLate(runs, now));
    if (isUnavailable(err)) throw err;
    const [run] = runs;
    if (!run || runs.length === 1) {
      const { result_id: run_id, deployment_id, target_id } = run ?? {};
      options.log.error({ err, run_id, deployment_id, target_id }, "run cannot be published");
      return;
    }
    // Halving isolates the run. Published runs must not go out in other messages.
    const ids = runs.map(({ result_id }) => result_id);
    const unpublished = new Set(await options.store.pendingRuns.unpublishedAmong(ids));
    const left = runs.filter(({ result_id }) => unpublished.has(result_id));
    for (const half of halvesOf(left)) await publishAll(options, half, now);
  }
}

/** Returns the runs except those whose deployment was deleted: they are UNABLE_TO_RUN. */
async function withoutDeleted(
  { store }: PublishOptions,
  runs: readonly UnpublishedRun[],
): Promise<readonly PendingRun[]> {
  const deleted = runs.filter(({ is_deleted }) => is_deleted);
  if (deleted.length === 0) return runs;
  await store.results.recordUnreported(deleted.map((run) => unableToRun(run, DEPLOYMENT_DELETED)));
  return runs.filter(({ is_deleted }) => !is_deleted);
}

/** The runs that can no longer start because the bus had no room for them. */
const tooLate = (runs: readonly PendingRun[], now: number) =>
  runs.filter(({ latest_start }) => latest_start < now).map((run) => missedFor("bus_full", run));

/**
 * A workflow's run overlaps the previous run of its deployment when that one ends after it is due.
 * While the previous run is published and has no outcome, the run stays unpublished, at most this
 * long after it was due:
 *
 *     previous slot       due    due + 5 s
 *     |-- run ..... end |..report..|          published when the report comes
 *     |-- run ..........|.end.report          MISSED when the report comes
 *     |-- run ..........|..........|          MISSED after 5 s
 */
const REPORT_GRACE_MS = 5000;
const OVERLAPPED_BATCH = 500;

/** Records as MISSED the runs whose previous run has no outcome in time. */
export async function missOverlapped(options: SchedulerParts, now: number): Promise<void> {
  const { store } = options;
  const due = now - REPORT_GRACE_MS;
  const overlapped = await store.pendingRuns.listOverlapped(due, OVERLAPPED_BATCH);
  if (overlapped.length === 0) return;
  const agents = await store.agents.list();
  // Without an agent online, the previous run is lost rather than running.
  const missed = overlapped.map((run) =>
    missedFor(absenceOf(agents, run.location_id, run.due_time) ?? "still_running", run),
  );
  await recordMissed(options, missed);
}

/** Returns the runs except those that were due before their previous run ended: they are MISSED. */
async function withoutOverlapped(
  options: PublishOptions,
  runs: readonly PendingRun[],
  now: number,
): Promise<readonly PendingRun[]> {
  const overlapped = new Set<PendingRun>();
  for (const run of runs)
    if (run.target_kind === "workflow" && (await isOverlapped(options.store, run, now)))
      overlapped.add(run);
  if (overlapped.size === 0) return runs;
  await recordMissed(
    options,
    [...overlapped].map((run) => missedFor("still_running", run)),
  );
  return runs.filter((run) => !overlapped.has(run));
}

async function isOverlapped(
  { workflowResults }: Store,
  { deployment_id, due_time }: PendingRun,
  now: number,
): Promise<boolean> {
  if (!deployment_id || due_time > now) return false;
  const previous = await workflowResults.latestOfDeployment(deployment_id);
  const ended = parseInstant(previous?.meta.end_time ?? "");
  return ended !== undefined && ended > due_time;
}
