// Stores insights reports. A report's rank is derived from its owner's other reports on reading.
import { kindOf, REPORT_TYPES } from "../../model/insight.ts";
import type {
  Insight,
  InsightDetails,
  InsightKey,
  NewInsight,
  StaleInsight,
} from "../../model/insight.ts";
import { takeExcluded } from "../bulk.ts";
import type { BulkInsert } from "../bulk.ts";
import type { Database } from "../database.ts";
import { inTransaction, insertRows } from "../database.ts";
import { pack, unpack } from "../details.ts";
import { numberNames, selectNumber } from "../names.ts";
import { createInsightInputs } from "./insight-inputs.ts";
import { createInsightLists, MEASURES } from "./insight-lists.ts";
import { withRanks } from "./insight-ranks.ts";
import { sharingOf } from "./insight-sharing.ts";
import { createInsightMarks, unmark } from "./stale-insights.ts";

/** How to settle a report: store a new one, or keep or remove the old one. */
export type Settlement = NewInsight | "keep" | "remove";

export type InsightMeasures = Pick<Insight, (typeof MEASURES)[number]>;

export const createInsightStore = (database: Database) => ({
  ...createInsightMarks(database),
  ...createInsightInputs(database),
  ...createInsightLists(database),
  /**
   * Settles a report and removes its mark, atomically. Returns false and does nothing if the mark
   * has changed or gone since it was read: another process was faster, or the report lacks newer
   * results. Stores nothing for a deleted call.
   */
  settle: (stale: StaleInsight, settlement: Settlement): Promise<boolean> =>
    inTransaction(database, async (transaction) => {
      if (!(await unmark(transaction, stale))) return false;
      if (settlement === "remove") await remove(transaction, stale);
      else if (settlement !== "keep") await save(transaction, settlement);
      return true;
    }),
  get: (key: InsightKey): Promise<Insight | undefined> =>
    readInsight(database, reportsOf(database, key).where("start", "=", key.start)),
  /** Reads only the numbers of a report, for comparison. */
  measures: (key: InsightKey): Promise<InsightMeasures | undefined> =>
    database.kysely
      .selectFrom("insights")
      .select(MEASURES)
      .where("call", "=", selectNumber(database, key.call_id))
      .where("report_type", "=", REPORT_TYPES[key.kind])
      .where("start", "=", key.start)
      .executeTakeFirst(),
  /** Returns the report on the last period that has one. */
  latest: (call: Omit<InsightKey, "start">): Promise<Insight | undefined> =>
    readInsight(database, reportsOf(database, call).orderBy("start", "desc")),
});

async function save(database: Database, insight: NewInsight): Promise<void> {
  const { call_id, kind, start, details, ...columns } = insight;
  const sharing = await sharingOf(database, call_id);
  if (!sharing) return;
  const numberOf = await numberNames(database, [call_id]);
  const row = {
    ...columns,
    ...sharing,
    call: numberOf(call_id),
    report_type: REPORT_TYPES[kind],
    start,
    details: pack(details),
  };
  await insertRows(database, INSERT, [row]);
}

async function remove(database: Database, { call_id, kind, start }: InsightKey): Promise<void> {
  await database.kysely
    .deleteFrom("insights")
    .where("call", "=", selectNumber(database, call_id))
    .where("report_type", "=", REPORT_TYPES[kind])
    .where("start", "=", start)
    .execute();
}

const VALUES = {
  owner: "text",
  owner_org: "text",
  shared_org: "integer",
  shared_community: "integer",
  made: "bigint",
  passed: "bigint",
  outliers: "bigint",
  score: "integer",
  pass_percent: "double precision",
  outlier_percent: "double precision",
  mean_test_length: "double precision",
  sd_test_length: "double precision",
  details: "bytea",
} as const;

const INSERT: BulkInsert<"call" | "report_type" | "start" | keyof typeof VALUES> = {
  into: "insights",
  columns: { call: "integer", report_type: "integer", start: "bigint", ...VALUES },
  onConflict: `on conflict (call, report_type, start)
    do update set ${takeExcluded(Object.keys(VALUES))}`,
};

/** Selects the reports of one kind on one call. */
const reportsOf = ({ kysely }: Database, { call_id, kind }: Omit<InsightKey, "start">) =>
  kysely
    .selectFrom("insights")
    .innerJoin("names as calls", "calls.id", "insights.call")
    .select(["calls.name as call_id", "owner", "owner_org", "report_type", "start"])
    .select([...MEASURES, "details"])
    .where("calls.name", "=", call_id)
    .where("report_type", "=", REPORT_TYPES[kind]);

/** Reads the first of the reports. */
async function readInsight(
  database: Database,
  reports: ReturnType<typeof reportsOf>,
): Promise<Insight | undefined> {
  const rows = await reports.limit(1).execute();
  const [insight] = await withRanks(database, rows);
  if (!insight) return undefined;
  const { owner: _owner, owner_org: _org, report_type, details, ...rest } = insight;
  return { ...rest, kind: kindOf(report_type), details: unpack(details) as InsightDetails };
}
