// `sonde results`: lists the results of a call or a workflow, and shows one, over the API.
import { Option } from "commander";
import type { Command } from "commander";
import { ApiError, pathOf } from "../client/api.ts";
import type { Api, Json } from "../client/api.ts";
import { findObject } from "../client/find-object.ts";
import { RESULT_COLUMNS } from "../client/outcome.ts";
import type { Column } from "../client/table.ts";
import { CATEGORY_FILTERS, RESULT_CODES } from "../model/result.ts";
import { addApiOptions, addListOptions, openApi } from "./api-client.ts";
import type { ApiOptions, ListOptions } from "./api-client.ts";
import { examples } from "./command.ts";
import type { Context } from "./command.ts";
import { fitForOutput, printList } from "./output.ts";
import { printResult } from "./run.ts";

const DEFAULT_LIMIT = 20;

interface ResultListOptions extends ListOptions {
  readonly location?: string;
  readonly category?: string;
  readonly type?: string;
  readonly from?: string;
  readonly to?: string;
  readonly oldestFirst?: true;
}

export function addResultCommands(program: Command, context: Context): void {
  const results = program.command("results").description("List and show the results of runs.");
  const list = results
    .command("list")
    .description("List the results of a call or a workflow, newest first.")
    .argument("<call>", "id or name of a call or a workflow")
    .option("--location <id>", "only at this location")
    .addOption(new Option("--category <category>", "only this category").choices(CATEGORY_FILTERS))
    .addOption(new Option("--type <result>", "only this result").choices(RESULT_CODES))
    .option("--from <time>", "only from this ISO 8601 time on")
    .option("--to <time>", "only before this time")
    .option("--oldest-first", "in order of creation");
  addListOptions(list, DEFAULT_LIMIT)
    .addHelpText(
      "after",
      examples(
        "sonde results list Shop --category FAIL --from 2026-10-01",
        "sonde results list Shop --limit 1000 --json",
      ),
    )
    .action((given: string, options: ResultListOptions) => listResults(context, given, options));
  addApiOptions(
    results
      .command("get")
      .description("Show a result and the times of its phases.")
      .argument("<id>", "a result's id, from `sonde results list` or `sonde run`")
      .option("--body", "print the response body instead"),
    "print it as JSON",
  )
    .addHelpText("after", examples("sonde results get ID", "sonde results get ID --body"))
    .action((id: string, options: ApiOptions & { readonly body?: true }) =>
      showResult(context, id, options),
    );
}

async function listResults(context: Context, given: string, options: ResultListOptions) {
  const api = openApi(context, options);
  const { kind, id } = await findObject(api, ["calls", "workflows"], given);
  const { location, category, type, from, to, oldestFirst, limit } = options;
  const query = { location_id: location, category, type, from, to };
  const items = api.list(
    `/${kind}/${id}/results/`,
    { ...query, order: oldestFirst ? "asc" : "desc" },
    { limit: limit + 1 },
  );
  const columns = kind === "calls" ? RESULT_COLUMNS : WORKFLOW_COLUMNS;
  await printList(context, items, options, {
    columns: columns as readonly Column<unknown>[],
    noun: "results",
  });
}

const WORKFLOW_COLUMNS = RESULT_COLUMNS.filter(
  ({ heading }) => heading !== "HTTP" && heading !== "TIME TAKEN",
);

async function showResult(
  context: Context,
  id: string,
  options: ApiOptions & { readonly body?: true },
): Promise<void> {
  const api = openApi(context, options);
  if (!options.body) return printResult(context, await resultOf(api, id), options);
  const content = await api.get(pathOf`/results/${id}/content`);
  if (options.json) return printResult(context, content, options);
  const text = content["content"];
  if (typeof text !== "string") throw new Error(`no body is kept: ${String(content["reason"])}`);
  context.print(process.stdout.isTTY ? `${fitForOutput(text)}\n` : text);
}

/** Gets the result of a call, or else of a workflow. */
async function resultOf(api: Api, id: string): Promise<Json> {
  try {
    return await api.get(pathOf`/results/${id}/`);
  } catch (cause) {
    if (!(cause instanceof ApiError) || cause.status !== 404) throw cause;
    return api.get(pathOf`/workflows/results/${id}/`).catch(() => {
      throw cause;
    });
  }
}
