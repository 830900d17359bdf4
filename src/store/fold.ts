// Folds results into their hour, day, week, month and year, within the transaction that stores
// them.
import type { Selectable } from "kysely";
import { PERIOD_KINDS, periodStart } from "../model/periods.ts";
import { rawOf, summarizeResults, timeOf } from "../model/result.ts";
import type { ReportedResult, Result } from "../model/result.ts";
import { countOnly, mergeSummaries } from "../model/summary.ts";
import type { Summary } from "../model/summary.ts";
import type { Database } from "./database.ts";
import { chunksOf } from "./database.ts";
import type { Schema } from "./schema.ts";

type Row = Selectable<Schema["stats"]>;
type Key = Pick<Row, "call_id" | "kind" | "period" | "location_id" | "result">;

/** A result as it goes into the ledger; `replaces` when it takes the place of a MISSED. */
export interface NewResult {
  readonly owner: string;
  readonly result: ReportedResult;
  readonly replaces: Result | undefined;
}

interface Change {
  readonly key: Key;
  readonly summary: Summary;
}

export async function foldResults(
  database: Database,
  accepted: readonly NewResult[],
): Promise<void> {
  const changes = changesOf(accepted);
  if (changes.size === 0) return;
  // In one order everywhere, so that transactions that touch the same rows wait for one another
  // instead of crossing.
  const sorted = [...changes].toSorted(([a], [b]) => (a < b ? -1 : 1));
  for (const chunk of chunksOf(sorted, 200)) await applyChanges(database, new Map(chunk));
}

/** What the results add, by the text of the key; a replaced MISSED is taken back. */
function changesOf(accepted: readonly NewResult[]): Map<string, Change> {
  const changes = new Map<string, Change>();
  const add = (key: Key, summary: Summary): void => {
    const before = changes.get(keyText(key));
    changes.set(keyText(key), {
      key,
      summary: before ? mergeSummaries(before.summary, summary) : summary,
    });
  };
  const groups = Map.groupBy(accepted, ({ result }) => groupText(result));
  for (const group of groups.values()) {
    const summary = summarizeResults(group.map(({ result }) => rawOf(result)));
    for (const key of keysOf((group[0] as NewResult).result)) add(key, summary);
  }
  for (const { replaces } of accepted)
    if (replaces) for (const key of keysOf(replaces)) add(key, countOnly(-1));
  return changes;
}

// Results of one hour share their day, week, month and year too.
const groupText = (result: Result): string =>
  `${result.meta.call_id}|${result.meta.location_id}|${result.meta.result}|${periodStart("HOUR", timeOf(result))}`;

const keysOf = (result: Result): Key[] =>
  PERIOD_KINDS.map((kind) => ({
    call_id: result.meta.call_id,
    kind,
    period: periodStart(kind, timeOf(result)),
    location_id: result.meta.location_id,
    result: result.meta.result,
  }));

const keyText = ({ call_id, kind, period, location_id, result }: Key): string =>
  `${call_id}|${kind}|${period}|${location_id}|${result}`;

async function applyChanges(
  database: Database,
  changes: ReadonlyMap<string, Change>,
): Promise<void> {
  if (database.rowLocks) await ensureRows(database, changes);
  const stored = await lockRows(database, changes);
  const merged = [...changes].map(([text, { key, summary }]) => {
    const before = stored.get(text);
    return toRow(key, before ? mergeSummaries(before, summary) : summary);
  });
  await upsert(database, merged);
}

/**
 * A row that is not there cannot be locked: two transactions would each make it, and one would be
 * lost. For the same reason a row that counts nothing any more stays.
 */
async function ensureRows(
  { kysely }: Database,
  changes: ReadonlyMap<string, Change>,
): Promise<void> {
  await kysely
    .insertInto("stats")
    .values([...changes.values()].map(({ key }) => toRow(key, countOnly(0))))
    .onConflict((conflict) =>
      conflict.columns(["call_id", "kind", "period", "location_id", "result"]).doNothing(),
    )
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

async function upsert({ kysely }: Database, rows: readonly Row[]): Promise<void> {
  await kysely
    .insertInto("stats")
    .values([...rows])
    .onConflict((conflict) =>
      conflict
        .columns(["call_id", "kind", "period", "location_id", "result"])
        .doUpdateSet((eb) => ({
          count: eb.ref("excluded.count"),
          min: eb.ref("excluded.min"),
          max: eb.ref("excluded.max"),
          mean: eb.ref("excluded.mean"),
          m2: eb.ref("excluded.m2"),
          m3: eb.ref("excluded.m3"),
          histogram: eb.ref("excluded.histogram"),
          phases: eb.ref("excluded.phases"),
        })),
    )
    .execute();
}

const toRow = (key: Key, { phases, ...summary }: Summary): Row => ({
  call_id: key.call_id,
  kind: key.kind,
  period: key.period,
  location_id: key.location_id,
  result: key.result,
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
