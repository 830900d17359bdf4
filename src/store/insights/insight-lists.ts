// Lists insights reports: those visible to a reader, those of one call, those of one period.
import type { Actor } from "../../model/access.ts";
import { kindOf, REPORT_TYPES } from "../../model/insight.ts";
import type { InsightKind, InsightSummary, ListedInsight } from "../../model/insight.ts";
import type { Database } from "../database.ts";
import { isAmong, textAt } from "../database.ts";
import { accessesOf, readableBy } from "../identity.ts";
import { selectNumber } from "../names.ts";
import { withRanks } from "./insight-ranks.ts";

/** A page of reports, in order of creation. */
export interface InsightPage {
  /** The `number` of a report, exclusive. */
  readonly after: number;
  readonly limit: number;
  /** Undefined for both kinds. */
  readonly kind: InsightKind | undefined;
}

/** A score with the numbers of its report and its call. */
interface PeriodScore {
  readonly number: number;
  readonly call: number;
  readonly score: number;
}

/** A report without its rank, with the name and the URL of its call. */
interface NamedInsight extends Omit<InsightSummary, "rank"> {
  readonly number: number;
  readonly name: string;
  readonly url: string;
}

export const createInsightLists = (database: Database) => ({
  /** Lists the reports that `reader` may see, in order of creation. */
  list: async (reader: Actor, page: InsightPage): Promise<ListedInsight[]> =>
    readListed(database, readableIds(database, reader, page)),
  /** Lists the reports of one call in the same order, whoever may see them. */
  listOfCall: async (callId: string, page: InsightPage): Promise<ListedInsight[]> =>
    readListed(database, idsOfCall(database, callId, page)),
  /** Returns a period's scores: of the reader's calls, or of others its organization shares. */
  periodScores: (
    reader: Actor,
    kind: InsightKind,
    start: number,
    of: "own" | "shared",
  ): Promise<PeriodScore[]> => readScores(database, reader, kind, start, of),
  /** Reads reports by their numbers, at most a few hundred. */
  ofNumbers: (numbers: readonly number[]): Promise<NamedInsight[]> => readNamed(database, numbers),
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

const pageOf = ({ kysely }: Database, { after, limit }: InsightPage) =>
  kysely.selectFrom("insights").select("id").where("id", ">", after).orderBy("id").limit(limit);

/**
 * Selects by one index range for each kind of report and of access, each limited to the page's
 * size, like the lists of documents.
 */
export function readableIds(database: Database, reader: Actor, page: InsightPage) {
  const kinds = page.kind === undefined ? (["WEEK", "MONTH"] as const) : [page.kind];
  const ranges = kinds.flatMap((kind) =>
    accessesOf(reader).map((access) => {
      const rows = pageOf(database, page)
        .where("report_type", "=", REPORT_TYPES[kind])
        .where(readableBy(reader, access));
      return database.kysely.selectFrom(rows.as("readable")).select("id");
    }),
  );
  return ranges
    .reduce((all, range) => all.unionAll(range))
    .orderBy("id")
    .limit(page.limit);
}

const idsOfCall = (database: Database, callId: string, page: InsightPage) => {
  const { kind } = page;
  const reports = pageOf(database, page).where("call", "=", selectNumber(database, callId));
  const wanted = kind ? reports.where("report_type", "=", REPORT_TYPES[kind]) : reports;
  return database.kysely.selectFrom(wanted.as("readable")).select("id");
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

async function readScores(
  { kysely }: Database,
  reader: Actor,
  kind: InsightKind,
  start: number,
  of: "own" | "shared",
): Promise<PeriodScore[]> {
  return kysely
    .selectFrom("insights")
    .select(["id as number", "call", "score"])
    .where("report_type", "=", REPORT_TYPES[kind])
    .where("start", "=", start)
    .where(readableBy(reader, of === "own" ? "owner" : "org"))
    .execute();
}

async function readNamed(database: Database, numbers: readonly number[]): Promise<NamedInsight[]> {
  const rows = await database.kysely
    .selectFrom("insights")
    .innerJoin("names as calls", "calls.id", "insights.call")
    .innerJoin("documents", "documents.id", "calls.name")
    .select(["insights.id as number", "calls.name as call_id", "report_type", "start", ...MEASURES])
    .select(textAt(database, "documents.document", ["meta", "name"]).as("name"))
    .select(textAt(database, "documents.document", ["request", "url"]).as("url"))
    .where(isAmong(database, "insights.id", numbers))
    .execute();
  return rows.map(({ report_type, name, url, ...row }) => ({
    ...row,
    kind: kindOf(report_type),
    name: name ?? "",
    url: url ?? "",
  }));
}
