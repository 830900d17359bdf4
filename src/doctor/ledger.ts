// The ledger: each run due in the last hours has one outcome, or is pending.
import { count } from "../model/count.ts";
import { formatPeriodTime } from "../model/instant.ts";
import { MINUTE_MS, newestOpenSlot, SCHEDULER_LEASE } from "../model/slots.ts";
import { sum } from "../model/sum.ts";
import type { Inspection } from "../store/inspection.ts";
import type { Check } from "./check.ts";
import { percent } from "./amounts.ts";
import type { Finding } from "./finding.ts";
import { failure, ok, warning } from "./finding.ts";
import type { Sources } from "./sources.ts";
import { DATABASE, readableDatabase } from "./sources.ts";

const HOURS = 6;
/** Limits the check to a few seconds: a large service's last minutes say as much. */
const MOST_RUNS = 200_000;

export const ledgerCheck = (sources: Sources): Check => ({
  name: "ledger",
  needs: DATABASE,
  async run() {
    const database = await readableDatabase(sources);
    const now = await database.now();
    const lease = await database.lease(SCHEDULER_LEASE);
    const opening = await database.openingSlots();
    const perMinute = await database.runsPerMinute();
    const minutes = Math.max(1, Math.min(HOURS * 60, Math.floor(MOST_RUNS / perMinute)));
    const newest = Math.min(lease?.cursor ?? 0, newestOpenSlot(now));
    const slots = Array.from({ length: minutes }, (_, n) => newest - n * MINUTE_MS);
    return ledgerFindings(
      await auditSlots(
        database,
        slots.filter((slot) => slot > 0 && !opening.includes(slot)),
      ),
    );
  },
});

export interface LedgerFacts {
  readonly from: number;
  readonly to: number;
  readonly slots: number;
  readonly due: number;
  readonly missing: number;
  readonly twice: number;
  /** A deployment that lacks a run, and the slot in which that was due. */
  readonly example: { readonly deployment_id: string; readonly slot: number } | undefined;
  /** Number of MISSED outcomes, by their message. */
  readonly missed: ReadonlyMap<string, number>;
}

async function auditSlots(database: Inspection, slots: readonly number[]): Promise<LedgerFacts> {
  let [due, missing, twice] = [0, 0, 0];
  let example: LedgerFacts["example"];
  for (const slot of slots) {
    const found = await database.auditSlot(slot);
    due += found.due;
    missing += found.missing;
    twice += found.twice;
    if (found.deployment_id !== null) example ??= { deployment_id: found.deployment_id, slot };
  }
  const [from, to] = [slots.at(-1) ?? 0, (slots[0] ?? 0) + MINUTE_MS];
  const missed = slots.length > 0 ? await database.missed(from, to) : new Map<string, number>();
  return { from, to, slots: slots.length, due, missing, twice, example, missed };
}

export function ledgerFindings(facts: LedgerFacts): Finding[] {
  const { slots, from, to, due, missing, twice, example, missed } = facts;
  if (slots === 0) return [ok("no slot has been opened yet")];
  const span = `in the ${count(slots, "slot")} from ${formatPeriodTime(from)} to ${formatPeriodTime(to)}`;
  const found: Finding[] = [];
  if (missing > 0)
    found.push(
      failure(
        `${missing} of ${count(due, "run")} due ${span} ${missing === 1 ? "has" : "have"} neither an outcome nor a pending run, for example that of deployment ${example?.deployment_id} due in the slot ${formatPeriodTime(example?.slot ?? 0)}`,
        "keep a copy of the database and report this: either rows were removed or it is a bug; an outage never loses MISSED outcomes",
      ),
    );
  if (twice > 0)
    found.push(
      failure(
        `${count(twice, "run")} due ${span} ${twice === 1 ? "has" : "have"} an outcome and a pending run (allowed: one of them)`,
        "keep a copy of the database and report this: rows were changed, or it is a bug",
      ),
    );
  if (missed.size > 0) found.push(missedFinding(facts, span));
  if (found.length > 0) return found;
  return [ok(soundRuns(due, span))];
}

function soundRuns(due: number, span: string): string {
  if (due === 0) return `no run was due ${span}, and none was missed`;
  if (due === 1) return `the run due ${span} has an outcome or is pending, and was not missed`;
  return `each of the ${due} runs due ${span} has an outcome or is pending, and none was missed`;
}

function missedFinding({ due, missed }: LedgerFacts, span: string): Finding {
  const all = sum(missed.values());
  const reasons = reasonsOf(missed);
  const shown = reasons
    .slice(0, 3)
    .map(({ message, runs }) => `${runs} × ${message}`)
    .join("; ");
  const more = reasons.length > 3 ? `; and ${count(reasons.length - 3, "other reason")}` : "";
  const share = due > 0 ? ` (${percent(all / Math.max(all, due))} of those due)` : "";
  return warning(
    `${count(all, "run was", "runs were")} MISSED ${span}${share}: ${shown}${more}`,
    "docs/agent.md explains each reason; runs missed during an outage stay MISSED",
  );
}

/**
 * Groups messages by their leading code, and shows the most common one of each: some include a
 * delay.
 */
function reasonsOf(missed: LedgerFacts["missed"]): { message: string; runs: number }[] {
  const byCode = Map.groupBy(
    [...missed].toSorted(([, a], [, b]) => b - a),
    ([message]) => message.split(":", 1)[0],
  );
  return [...byCode.values()]
    .map((same) => ({
      message: same[0]?.[0] ?? "",
      runs: sum(same.map(([, runs]) => runs)),
    }))
    .toSorted((a, b) => b.runs - a.runs);
}
