// Lists of insights reports: of what a reader may see, of one call, and of one period.
import { sql } from "kysely";
import type { Actor } from "../model/access.ts";
import { kindOf, REPORT_TYPES } from "../model/insight.ts";
import type { InsightKind, InsightSummary, ListedInsight } from "../model/insight.ts";
import type { Database } from "./database.ts";
import { chunksOf, isAmong, textAt } from "./database.ts";
import { isNotOf, isOf, isOutside } from "./identity.ts";
import { withRanks } from "./insight-ranks.ts";
import { numberOf } from "./names.ts";

/** Reports after one, in the order in which they were first made. */
export interface InsightPage {
  /** The `number` of a report. */
  readonly after: number;
  readonly limit: number;
  /** Undefined: of both kinds. */
  readonly kind: InsightKind | undefined;
}

type PeriodInsight = Omit<InsightSummary, "rank">;

interface CallName {
  readonly id: string;
  readonly name: string;
  readonly url: string;
}

export const createInsightLists = (database: Database) => ({
  /** Those that `reader` may see, in the order in which they were first made. */
  list: async (reader: Actor, page: InsightPage): Promise<ListedInsight[]> =>
    readListed(database, readableIds(database, reader, page)),
  /** Those of one call, in the same order, whoever may see them. */
  listOfCall: async (callId: string, page: InsightPage): Promise<ListedInsight[]> =>
    readListed(database, idsOfCall(database, callId, page)),
  /** Those of the period: of the reader's own calls, or of those that its organization shares. */
  listPeriod: (
    reader: Actor,
    kind: InsightKind,
    start: number,
    of: "own" | "shared",
  ): Promise<PeriodInsight[]> => readPeriod(database, reader, kind, start, of),
  /** Those calls that exist. */
  callNames: (callIds: readonly string[]): Promise<CallName[]> => readCallNames(database, callIds),
});

/** The columns that every list shows. */
export const MEASURES = [
  "made",
  "passed",
  "outliers",
  "score",
  "pass_percent",
  "outlier_percent",
  "mean_test_length",
  "sd_test_length",
] as const;

const pageOf = ({ kysely }: Database, { after, limit, kind }: InsightPage) =>
  kysely
    .selectFrom("insights")
    .where("id", ">", after)
    .$if(kind !== undefined, (rows) =>
      rows.where("report_type", "=", REPORT_TYPES[kind as InsightKind]),
    )
    .orderBy("id")
    .limit(limit);

/**
 * One index range for each kind of access, each limited to the page's size: as the lists of
 * documents.
 */
export function readableIds(database: Database, reader: Actor, page: InsightPage) {
  const range = (access: "owner" | "org" | "community") => {
    let rows = pageOf(database, page).select("id");
    if (access === "owner") rows = rows.where(isOf(reader, "owner_org"));
    else rows = rows.where(isNotOf(reader, "owner_org"));
    if (access === "org")
      rows = rows.where("owner_org", "=", reader.org).where("shared_org", "=", sql.lit(1));
    if (access === "community") rows = rows.where("shared_community", "=", sql.lit(1));
    // Reports shared with the organization as well come by that range, once.
    if (access === "community" && reader.org !== null)
      rows = rows.where((eb) =>
        eb.or([eb("shared_org", "=", 0), isOutside(reader.org, "owner_org")]),
      );
    return database.kysely.selectFrom(rows.as("readable")).select("id");
  };
  const open = range("owner").unionAll(range("community"));
  const readable = reader.org === null ? open : open.unionAll(range("org"));
  return readable.orderBy("id").limit(page.limit);
}

const idsOfCall = (database: Database, callId: string, page: InsightPage) => {
  const reports = pageOf(database, page).where("call", "=", numberOf(database, callId));
  return database.kysely.selectFrom(reports.select("id").as("readable")).select("id");
};

async function readListed(
  database: Database,
  ids: ReturnType<typeof readableIds>,
): Promise<ListedInsight[]> {
  const rows = await database.kysely
    .with("page", () => ids)
    .selectFrom("page")
    .innerJoin("insights", "insights.id", "page.id")
    .innerJoin("names as calls", "calls.id", "insights.call")
    .innerJoin("documents", "documents.id", "calls.name")
    .select(["insights.id as number", "calls.name as call_id", "documents.domain"])
    .select(["insights.owner", "insights.owner_org", "report_type", "start", ...MEASURES])
    .select(textAt(database, "documents.document", ["meta", "name"]).as("name"))
    .orderBy("insights.id")
    .execute();
  const ranked = await withRanks(database, rows);
  return ranked.map(({ owner: _owner, owner_org: _org, report_type, name, domain, ...row }) => ({
    ...row,
    kind: kindOf(report_type),
    name: name ?? "",
    domain: domain ?? "",
  }));
}

async function readPeriod(
  { kysely }: Database,
  reader: Actor,
  kind: InsightKind,
  start: number,
  of: "own" | "shared",
): Promise<PeriodInsight[]> {
  const reports = kysely
    .selectFrom("insights")
    .select(["call", "start", ...MEASURES])
    .where("report_type", "=", REPORT_TYPES[kind])
    .where("start", "=", start);
  const seen =
    of === "own"
      ? reports.where(isOf(reader, "owner_org"))
      : reports
          .where("owner_org", "=", reader.org)
          .where("shared_org", "=", sql.lit(1))
          .where(isNotOf(reader, "owner_org"));
  const rows = await kysely
    .selectFrom(seen.as("seen"))
    .innerJoin("names as calls", "calls.id", "seen.call")
    .select(["calls.name as call_id", "seen.start", ...MEASURES])
    .execute();
  return rows.map((row) => ({ ...row, kind }));
}

async function readCallNames(database: Database, callIds: readonly string[]): Promise<CallName[]> {
  const calls: CallName[] = [];
  for (const chunk of chunksOf(callIds)) {
    const rows = await database.kysely
      .selectFrom("documents")
      .select("id")
      .select(textAt(database, "document", ["meta", "name"]).as("name"))
      .select(textAt(database, "document", ["request", "url"]).as("url"))
      .where(isAmong(database, "id", chunk))
      .execute();
    for (const { id, name, url } of rows) calls.push({ id, name: name ?? "", url: url ?? "" });
  }
  return calls;
}
