// Insights reports. A rank follows from the others of its owner, when it is read.
import { sql } from "kysely";
import type { Selectable } from "kysely";
import type { Ownership } from "../model/access.ts";
import { kindOf, REPORT_TYPES } from "../model/insight.ts";
import type { Insight, InsightDetails, InsightKey } from "../model/insight.ts";
import { FEWEST_CALLS } from "../model/score.ts";
import { takeExcluded } from "./bulk.ts";
import type { BulkInsert } from "./bulk.ts";
import type { Database } from "./database.ts";
import { inTransaction, insertRows } from "./database.ts";
import { pack, unpack } from "./details.ts";
import { createInsightInputs } from "./insight-inputs.ts";
import { numberNames } from "./names.ts";
import type { Schema } from "./schema.ts";
import { createInsightMarks, unmark } from "./stale-insights.ts";
import type { StaleInsight } from "./stale-insights.ts";

/** A report without its rank, which follows from the others of its owner. */
export type NewInsight = Omit<Insight, "rank"> & Ownership;

export type InsightStore = ReturnType<typeof createInsightStore>;

export const createInsightStore = (database: Database) => ({
  ...createInsightMarks(database),
  ...createInsightInputs(database),
  /**
   * Stores the report, if there is one to store, and takes its mark away, unless the mark has been
   * renewed since it was read: then the report is computed once more.
   */
  settle: (stale: StaleInsight, report: NewInsight | undefined): Promise<void> =>
    inTransaction(database, async (transaction) => {
      if (report) await save(transaction, report);
      await unmark(transaction, stale);
    }),
  async get(key: InsightKey): Promise<Insight | undefined> {
    const row = await insightRows(database)
      .where("calls.name", "=", key.call_id)
      .where("report_type", "=", REPORT_TYPES[key.kind])
      .where("start", "=", key.start)
      .executeTakeFirst();
    return row && toInsight(row);
  },
});

async function save(database: Database, insight: NewInsight): Promise<void> {
  const { call_id, kind, start, details, ...columns } = insight;
  const numberOfName = await numberNames(database, [call_id]);
  const row = {
    ...columns,
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

type InsightRow = Selectable<Schema["insights"]> & { readonly call_id: string };

/** With its rank: among equal scores, all have the better place. */
function insightRows(database: Database) {
  return database.kysely
    .selectFrom("insights")
    .innerJoin("names as calls", "calls.id", "insights.call")
    .selectAll("insights")
    .select("calls.name as call_id")
    .select((eb) =>
      eb
        .selectFrom("insights as better")
        .select((count) => count.fn.countAll<number>().as("count"))
        .whereRef("better.owner", "=", "insights.owner")
        .where(sql<boolean>`better.owner_org is not distinct from insights.owner_org`)
        .whereRef("better.report_type", "=", "insights.report_type")
        .whereRef("better.start", "=", "insights.start")
        .whereRef("better.score", ">", "insights.score")
        .as("better"),
    );
}

const toInsight = ({
  call_id,
  report_type,
  better,
  details,
  owner: _owner,
  owner_org: _org,
  call: _call,
  id: _id,
  ...row
}: InsightRow & { readonly better: number | null }): Insight => ({
  ...row,
  call_id,
  kind: kindOf(report_type),
  rank: row.made < FEWEST_CALLS ? -1 : (better ?? 0) + 1,
  details: unpack(details) as InsightDetails,
});
