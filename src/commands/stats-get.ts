// `sonde stats get`: the statistics of a call by period, over the API.
import { Option } from "commander";
import type { Command } from "commander";
import { pathOf } from "../client/api.ts";
import type { Json } from "../client/api.ts";
import { numberColumn, percentColumn } from "../client/columns.ts";
import { findObject } from "../client/find-object.ts";
import type { Column } from "../client/table.ts";
import { invalid } from "../model/errors.ts";
import { PERIOD_KINDS } from "../model/periods.ts";
import { addListOptions, openApi } from "./api-client.ts";
import type { ListOptions } from "./api-client.ts";
import { examples } from "./command.ts";
import type { Context } from "./command.ts";
import { printList } from "./output.ts";

const DEFAULT_LIMIT = 10;

interface StatOptions extends ListOptions {
  readonly kind: string;
  readonly time?: string;
  readonly since?: string;
  readonly location?: string;
  readonly type?: string;
}

/** Adds `get` to `sonde stats`. */
export function addStatsGet(stats: Command, context: Context): void {
  const get = stats
    .command("get")
    .description("Show a call's statistics by period (UTC), newest first. Over the API.")
    .argument("<call>", "id or name of a call")
    .addOption(
      new Option("--kind <kind>", "the period; RAW: single calls")
        .choices([...PERIOD_KINDS, "RAW"])
        .default("DAY"),
    )
    .option("--time <time>", "end with the period of this time (default: now)")
    .option("--since <time>", "from the period of this time on, oldest first")
    .option("--location <id>", "only calls from this location (default: all)")
    .option("--type <result>", "only calls with this result, such as COMPLETE (default: all)");
  addListOptions(get, DEFAULT_LIMIT)
    .addHelpText(
      "after",
      examples(
        "sonde stats get Shop --kind HOUR --limit 24",
        "sonde stats get Shop --since 2026-10-01 --location paris --json",
      ),
    )
    .action((given: string, options: StatOptions) => listStats(context, given, options));
}

async function listStats(context: Context, given: string, options: StatOptions): Promise<void> {
  const { kind, time, since, location, type, limit } = options;
  if (time !== undefined && since !== undefined)
    throw invalid("--time: give either --time or --since, not both");
  const api = openApi(context, options);
  const { id } = await findObject(api, ["calls"], given);
  const path =
    since === undefined ? pathOf`/calls/${id}/stats/before` : pathOf`/calls/${id}/stats/since`;
  const query = { kind, time: since ?? time, location_id: location, type };
  const items = api.list(path, query, { limit: limit + 1, field: "stats" });
  const columns = kind === "RAW" ? RAW_COLUMNS : PERIOD_COLUMNS;
  await printList(context, items, options, { columns, noun: "statistics" });
}

const TIME: Column<Json> = { heading: "TIME", cell: ({ time }) => String(time) };

const PERIOD_COLUMNS = [
  TIME,
  numberColumn("CALLS", "count"),
  percentColumn("PASSED %", "adv_stat.pass_percent"),
  numberColumn("AVG MS", "avg_latency"),
  numberColumn("P50", "adv_stat.p50"),
  numberColumn("P95", "adv_stat.p95"),
  numberColumn("P99", "adv_stat.p99"),
  numberColumn("MAX", "max_latency"),
  numberColumn("MISSED", "adv_stat.missed"),
];
const RAW_COLUMNS = [
  TIME,
  numberColumn("MS", "latency"),
  numberColumn("HTTP", "http_code"),
  numberColumn("BYTES", "content_length"),
  { heading: "RESULT", cell: ({ result_id }: Json) => String(result_id) },
];
