// Whether a scheduler leads, is on time, and closes the ledger; and whether insights are computed.
import { count } from "../model/count.ts";
import { formatPeriodTime } from "../model/instant.ts";
import { MINUTE_MS, newestOpenSlot, SCHEDULER_LEASE } from "../model/slots.ts";
import { sum } from "../model/sum.ts";
import type { Check } from "./check.ts";
import { lengthOf } from "./amounts.ts";
import type { Finding } from "./finding.ts";
import { failure, ok, warning } from "./finding.ts";
import type { Sources } from "./sources.ts";
import { DATABASE, readableDatabase } from "./sources.ts";

export interface SchedulerFacts {
  readonly now: number;
  readonly deployments: number;
  readonly lease: { readonly expires_at: number; readonly cursor: number | null } | undefined;
  /** Slots that the cursor has passed but that are not fully open. */
  readonly opening: readonly number[];
  /** Runs that should have been recorded as MISSED by now. */
  readonly expired: number;
}

/** The reconciler runs every five seconds. */
const RECONCILED_WITHIN_MS = 60_000;

export const schedulerCheck = (sources: Sources): Check => ({
  name: "scheduler",
  needs: DATABASE,
  async run() {
    const database = await readableDatabase(sources);
    const lease = await database.lease(SCHEDULER_LEASE);
    const now = await database.now();
    return schedulerFindings({
      now,
      lease,
      deployments: sum((await database.deployments()).values()),
      opening: await database.openingSlots(),
      expired: await database.countExpired(now - RECONCILED_WITHIN_MS),
    });
  },
});

const START = "start a process with the role scheduler, and check its log";
/** A beat comes every second; a pause of the machine may hold it up. */
const BEAT_WITHIN_MS = 5000;
/** Clocks are set back by seconds now and then. */
const ALLOWED_AHEAD_MS = MINUTE_MS;

export function schedulerFindings(facts: SchedulerFacts): Finding[] {
  const { now, lease, opening, expired, deployments } = facts;
  const found: Finding[] = [leadFinding(facts)];
  const oldest = opening.find((slot) => slot < now - 2 * MINUTE_MS);
  if (oldest !== undefined)
    found.push(
      warning(
        `${count(opening.length, "slot")} that the scheduler has passed ${opening.length === 1 ? "is" : "are"} not fully open, the oldest from ${formatPeriodTime(oldest)} (allowed: those of the last two minutes)`,
        "wait if an outage has just ended; otherwise check the scheduler's log for database errors",
      ),
    );
  if (expired > 0)
    found.push(
      failure(
        `${count(expired, "run")} without an outcome expired more than a minute ago and ${expired === 1 ? "is" : "are"} not recorded as MISSED`,
        lease ? "check the scheduler's log" : START,
      ),
    );
  return deployments === 0 && found.every(({ state }) => state === "ok")
    ? [ok("a scheduler leads, and nothing is deployed")]
    : found;
}

function leadFinding({ now, lease, deployments }: SchedulerFacts): Finding {
  const nothing = deployments === 0 ? warning : failure;
  if (!lease?.cursor) return nothing("no scheduler has ever run on this database", START);
  const due = newestOpenSlot(now - BEAT_WITHIN_MS);
  const cursor = `slots are open up to ${formatPeriodTime(lease.cursor)}`;
  const late =
    lease.cursor < due ? `${cursor}, but should be open up to ${formatPeriodTime(due)}` : cursor;
  if (lease.expires_at < now) return nothing(`no scheduler leads: ${late}`, START);
  if (lease.cursor < due)
    return failure(
      `the scheduler is behind: ${late}`,
      "check its log, and the load of its machine and of the database",
    );
  if (lease.cursor > newestOpenSlot(now) + ALLOWED_AHEAD_MS)
    return nothing(
      `the scheduler opens no slot until its clock reaches the newest one again: ${cursor}, ${lengthOf(lease.cursor - now)} ahead`,
      "the clock was set back: if it is right now, wait; the runs up to the newest slot have their outcomes",
    );
  return ok(`a scheduler leads, and ${cursor}`);
}

const ALLOWED_OVERDUE_MS = 3_600_000;
/** The reports of a month may take hours if there are many calls. */
const LOST_MS = 24 * 3_600_000;

export const insightsCheck = (sources: Sources): Check => ({
  name: "insights",
  needs: DATABASE,
  async run() {
    const database = await readableDatabase(sources);
    const now = await database.now();
    return [insightsFinding({ now, ...(await database.waitingInsights(now)) })];
  },
});

export interface InsightFacts {
  readonly now: number;
  /** Reports marked to be computed. */
  readonly reports: number;
  /** Since when the oldest of them should have been computed. */
  readonly since: number | undefined;
}

export function insightsFinding({ now, reports, since = now }: InsightFacts): Finding {
  const overdue = now - since;
  const what = `${count(reports, "report")} ${reports === 1 ? "waits" : "wait"} to be computed`;
  if (overdue <= ALLOWED_OVERDUE_MS) return ok(reports === 0 ? "no report is overdue" : what);
  return (overdue > LOST_MS ? failure : warning)(
    `${what}, the oldest for ${lengthOf(overdue)} (allowed: ${lengthOf(ALLOWED_OVERDUE_MS)})`,
    "start a process with the role aggregator, and look for `insight could not be computed` in its log",
  );
}
