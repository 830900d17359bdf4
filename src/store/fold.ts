// Folds results into the statistics of their hour, day, week, month and year, in the transaction
// that stores them.
import type { Selectable } from "kysely";
import { periodStart, periodStarts } from "../model/periods.ts";
import { summarizeResults } from "../model/result.ts";
import type { CountedResult } from "../model/result.ts";
import { countOnly, mergeSummaries } from "../model/summary.ts";
import type { Summary } from "../model/summary.ts";
import type { Database } from "./database.ts";
import { chunksOf, excluded } from "./database.ts";
import type { Schema } from "./schema.ts";

type Row = Selectable<Schema["stats"]>;

const KEY = ["call_id", "kind", "period", "location_id", "result"] as const;
type Key = Pick<Row, (typeof KEY)[number]>;

interface Change {
  readonly key: Key;
  readonly summary: Summary;
}

/** Adds `added` to the statistics, and takes back `replaced`: MISSED results. */
export async function foldResults(
  database: Database,
  added: readonly CountedResult[],
  replaced: readonly CountedResult[],
): Promise<void> {
  const changes = changesOf(added, replaced);
  // In one order everywhere: transactions on the same rows then wait for one another and do not
  // deadlock.
  const sorted = [...changes].toSorted(([a], [b]) => (a < b ? -1 : 1));
  for (const chunk of chunksOf(sorted, 200)) await applyChanges(database, new Map(chunk));
}

/** By the text of their keys. */
function changesOf(
  added: readonly CountedResult[],
  replaced: readonly CountedResult[],
): Map<string, Change> {
  // Results of the same hour have their day, week, month and year in common too.
  const byHour = Map.groupBy(added, ({ call_id, location_id, result, time }) =>
    [call_id, location_id, result, periodStart("HOUR", time)].join("|"),
  );
  const counted = [...byHour.values()].map(
    (group) => [group[0] as CountedResult, summarizeResults(group)] as const,
  );
  const takenBack = replaced.map((result) => [result, countOnly(-1)] as const);
  const all = [...counted, ...takenBack].flatMap(
    ([{ call_id, location_id, result, time }, summary]): Change[] =>
      periodStarts(time).map(([kind, period]) => ({
        key: { call_id, kind, period, location_id, result },
        summary,
      })),
  );
  const changes = new Map<string, Change>();
  for (const { key, summary } of all) {
    const text = keyText(key);
    const before = changes.get(text);
    changes.set(text, { key, summary: before ? mergeSummaries(before.summary, summary) : summary });
  }
  return changes;
}

const keyText = ({ call_id, kind, period, location_id, result }: Key): string =>
  `${call_id}|${kind}|${period}|${location_id}|${result}`;

async function applyChanges(
  database: Database,
  changes: ReadonlyMap<string, Change>,
): Promise<void> {
  if (database.rowLocks) await ensureRows(database, changes);
  const stored = await lockRows(database, changes);
  const merged = [...changes].map(([text, { key, summary }]): Change => {
    const before = stored.get(text);
    return before ? { key, summary: mergeSummaries(before, summary) } : { key, summary };
  });
  await upsert(database, merged);
}

/**
 * A row that does not exist cannot be locked: two transactions would each insert it, and one would
 * be lost. For the same reason a row stays when its count falls to zero.
 */
async function ensureRows(
  { kysely }: Database,
  changes: ReadonlyMap<string, Change>,
): Promise<void> {
  await kysely
    .insertInto("stats")
    .values([...changes.values()].map(({ key }) => toRow({ key, summary: countOnly(0) })))
    .onConflict((conflict) => conflict.columns(KEY).doNothing())
    .execute();
}

async function lockRows(
  { kysely, rowLocks }: Database,
  changes: ReadonlyMap<string, Change>,
): Promise<Map<string, Summary>> {
  const keys = [...changes.values()].map(({ key }) => key);
  const distinct = <Field extends keyof Key>(field: Field): Key[Field][] => [
    ...new Set(keys.map((key) => key[field])),
  ];
  const query = kysely
    .selectFrom("stats")
    .selectAll()
    .where("call_id", "in", distinct("call_id"))
    .where("kind", "in", distinct("kind"))
    .where("period", "in", distinct("period"))
    .where("location_id", "in", distinct("location_id"))
    .where("result", "in", distinct("result"))
    .orderBy("call_id")
    .orderBy("kind")
    .orderBy("period")
    .orderBy("location_id")
    .orderBy("result");
  const rows = await (rowLocks ? query.forUpdate() : query).execute();
  return new Map(rows.map((row) => [keyText(row), toSummary(row)]));
}

const SUMMARY_COLUMNS = excluded([
  "count",
  "min",
  "max",
  "mean",
  "m2",
  "m3",
  "histogram",
  "phases",
]);

async function upsert({ kysely }: Database, changes: readonly Change[]): Promise<void> {
  await kysely
    .insertInto("stats")
    .values(changes.map(toRow))
    .onConflict((conflict) => conflict.columns(KEY).doUpdateSet(SUMMARY_COLUMNS))
    .execute();
}

const toRow = ({ key, summary: { phases, ...summary } }: Change): Row => ({
  ...key,
  ...summary,
  phases: JSON.stringify(phases),
});

export const toSummary = ({ count, min, max, mean, m2, m3, histogram, phases }: Row): Summary => ({
  count,
  min,
  max,
  mean,
  m2,
  m3,
  histogram,
  phases: JSON.parse(phases) as Summary["phases"],
});
