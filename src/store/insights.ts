// Insights reports. A rank follows from the others of its owner, when it is read.
import type { Ownership } from "../model/access.ts";
import { kindOf, REPORT_TYPES } from "../model/insight.ts";
import type { Insight, InsightDetails, InsightKey } from "../model/insight.ts";
import { takeExcluded } from "./bulk.ts";
import type { BulkInsert } from "./bulk.ts";
import type { Database } from "./database.ts";
import { inTransaction, insertRows } from "./database.ts";
import { pack, unpack } from "./details.ts";
import { createInsightInputs } from "./insight-inputs.ts";
import { createInsightLists, MEASURES } from "./insight-lists.ts";
import { withRanks } from "./insight-ranks.ts";
import { sharingOf } from "./insight-sharing.ts";
import { numberNames } from "./names.ts";
import { createInsightMarks, unmark } from "./stale-insights.ts";
import type { StaleInsight } from "./stale-insights.ts";

/** A report without its rank, which follows from the others of its owner. */
export type NewInsight = Omit<Insight, "rank"> & Ownership;

export type InsightStore = ReturnType<typeof createInsightStore>;

export const createInsightStore = (database: Database) => ({
  ...createInsightMarks(database),
  ...createInsightInputs(database),
  ...createInsightLists(database),
  /**
   * Stores the report, if there is one to store and its call has not been deleted, and takes its
   * mark away, unless the mark has been renewed since it was read: then the report is computed once
   * more.
   */
  settle: (stale: StaleInsight, report: NewInsight | undefined): Promise<void> =>
    inTransaction(database, async (transaction) => {
      if (report) await save(transaction, report);
      await unmark(transaction, stale);
    }),
  get: (key: InsightKey): Promise<Insight | undefined> =>
    readInsight(database, reportsOf(database, key).where("start", "=", key.start)),
  /** That of the last period which has one. */
  latest: (call: Omit<InsightKey, "start">): Promise<Insight | undefined> =>
    readInsight(database, reportsOf(database, call).orderBy("start", "desc")),
});

async function save(database: Database, insight: NewInsight): Promise<void> {
  const { call_id, kind, start, details, ...columns } = insight;
  const sharing = await sharingOf(database, call_id);
  if (!sharing) return;
  const numberOfName = await numberNames(database, [call_id]);
  const row = {
    ...columns,
    ...sharing,
    call: numberOfName(call_id),
    report_type: REPORT_TYPES[kind],
    start,
    details: pack(details),
  };
  await insertRows(database, INSERT, [row]);
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

/** Of one kind, of one call. */
const reportsOf = ({ kysely }: Database, { call_id, kind }: Omit<InsightKey, "start">) =>
  kysely
    .selectFrom("insights")
    .innerJoin("names as calls", "calls.id", "insights.call")
    .select(["calls.name as call_id", "owner", "owner_org", "report_type", "start"])
    .select([...MEASURES, "details"])
    .where("calls.name", "=", call_id)
    .where("report_type", "=", REPORT_TYPES[kind]);

/** The first of them. */
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
