// `sonde insights rank`, `list` and `get`: the scores of calls, over the API.
import type { Command } from "commander";
import { pathOf } from "../client/api.ts";
import type { Json } from "../client/api.ts";
import { column, numberColumn, percentColumn } from "../client/columns.ts";
import { describe } from "../client/fields.ts";
import { findObject } from "../client/find-object.ts";
import type { Column } from "../client/table.ts";
import { addApiOptions, addListOptions, openApi } from "./api-client.ts";
import type { ApiOptions, ListOptions } from "./api-client.ts";
import { examples } from "./command.ts";
import type { Context } from "./command.ts";
import { printList, printObject } from "./output.ts";

interface RankOptions extends ListOptions {
  readonly weekly?: true;
  readonly worstFirst?: true;
  readonly shared?: true;
}
type InsightListOptions = ListOptions & { readonly call?: string; readonly weekly?: true };

/** Adds these commands to `sonde insights`. */
export function addInsightsRead(insights: Command, context: Context): void {
  addListOptions(
    insights
      .command("rank")
      .description("Rank calls by their recent monthly scores, best first. Over the API.")
      .option("--weekly", "by weekly scores instead")
      .option("--worst-first", "rank the worst first")
      .option("--shared", "also calls shared with the organization"),
  )
    .addHelpText(
      "after",
      examples("sonde insights rank --weekly", "sonde insights rank --worst-first --limit 5"),
    )
    .action((options: RankOptions) => rank(context, options));
  addListOptions(
    insights
      .command("list")
      .description("List weekly and monthly reports in order of creation. Over the API.")
      .option("--call <call>", "only of this call, an id or a name")
      .option("--weekly", "only weekly ones"),
  )
    .addHelpText("after", examples("sonde insights list --call Shop --weekly"))
    .action((options: InsightListOptions) => listInsights(context, options));
  addApiOptions(
    insights
      .command("get")
      .description("Show a report and what explains its score. Over the API.")
      .argument("<id>", "a report's id, from `sonde insights list`"),
    "print it as JSON",
  )
    .addHelpText("after", examples("sonde insights get ID --json"))
    .action(async (id: string, options: ApiOptions) => {
      const report = await openApi(context, options).get(pathOf`/insights/${id}/`);
      if (options.json) printObject(context, report);
      else context.print(describe(report));
    });
}

async function rank(context: Context, options: RankOptions): Promise<void> {
  const { weekly = false, worstFirst = false, shared = false } = options;
  const answer = await openApi(context, options).get("/insights/rank/", {
    weekly,
    reverse: worstFirst,
    inc_org: shared,
  });
  const entries = answer["results"] as readonly Json[];
  await printList(context, entries, options, { columns: RANK_COLUMNS, noun: "reports" });
}

async function listInsights(context: Context, options: InsightListOptions): Promise<void> {
  const api = openApi(context, options);
  const { call, weekly, limit } = options;
  const call_id = call === undefined ? undefined : (await findObject(api, ["calls"], call)).id;
  const items = api.list("/insights/", { call_id, weekly }, { limit: limit + 1 });
  await printList(context, items, options, { columns: LIST_COLUMNS, noun: "reports" });
}

const nonePassed = ({ pass_percent }: Json): boolean => pass_percent === 0;

/** The API gives 0 where there were no such calls. */
const unless = (isNone: (row: Json) => boolean, shown: Column<Json>): Column<Json> => ({
  ...shown,
  cell: (row) => (isNone(row) ? null : shown.cell(row)),
});

const MEASURES: readonly Column<Json>[] = [
  // The API gives the score 0 if there is none: lists tell that by `rank`, rankings by `band`.
  {
    heading: "SCORE",
    align: "right",
    cell: ({ rank, band, score }) => (rank === -1 || band === null ? null : Number(score)),
  },
  unless(({ made }) => made === 0, percentColumn("PASSED %", "pass_percent")),
  unless(nonePassed, percentColumn("OUTLIERS %", "outlier_percent")),
  unless(nonePassed, numberColumn("MEAN MS", "mean_test_length")),
];

const RANK_COLUMNS: readonly Column<Json>[] = [
  column("CALL", "api_name", { shrinks: true }),
  ...MEASURES,
  {
    heading: "SCORES, NEWEST LAST",
    cell: ({ results }) =>
      (results as readonly (readonly [string, number | null])[])
        .map(([, score]) => score ?? "-")
        .join(" "),
    shrinks: true,
  },
];
const LIST_COLUMNS: readonly Column<Json>[] = [
  column("ID", "id"),
  column("CALL", "name", { shrinks: true }),
  ...MEASURES,
];
