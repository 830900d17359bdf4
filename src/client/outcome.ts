// Describes a run's outcome: a call with the times of its phases, a workflow call by call.
import type { Certificate } from "../model/certificate.ts";
import { count } from "../model/count.ts";
import { isInFlight } from "../model/result.ts";
import type { ListedResult, Result, WorkflowResult } from "../model/result.ts";
import type { Column, Color, Screen } from "./table.ts";
import { harmless } from "./text.ts";
import { milliseconds, waterfallOf } from "./waterfall.ts";

/** With its request, except from a list. */
type ShownResult = ListedResult & Partial<Pick<Result, "request">>;
export type WorkflowOutcome = WorkflowResult & { readonly results?: readonly ListedResult[] };

type Meta = Pick<Result["meta"], "result" | "result_category">;

const COLORS: Readonly<Record<string, Color>> = { PASS: "green", WARNING: "yellow", FAIL: "red" };

const colorOf = ({ result_category }: Meta): Color =>
  (result_category !== null && COLORS[result_category]) || "gray";

const paintedCategory = (meta: Meta, { paint }: Screen): string =>
  paint(colorOf(meta), meta.result_category ?? (isInFlight(meta) ? "NOT YET" : "NOT MADE"));

/** The exit codes of `sonde run --wait`. */
export const EXIT_CODES = { PASS: 0, FAIL: 1, WARNING: 2, none: 3, unfinished: 4 } as const;

export function exitCodeOf(meta: Meta): number {
  if (isInFlight(meta)) return EXIT_CODES.unfinished;
  return EXIT_CODES[meta.result_category ?? "none"];
}

/** Returns several lines, each with its line break. */
export function outcomeOf(result: ShownResult, screen: Screen): string {
  const { meta, response, request, hops, certificate } = result;
  const status =
    response && `${response.status_code} ${harmless(response.status_string)}`.trimEnd();
  const title = [paintedCategory(meta, screen), meta.result, status].filter(Boolean);
  // The request is the last one; a redirect may have changed its method.
  const method = hops.length === 0 ? harmless(request?.method ?? "") : "";
  const when = (meta.start_time ?? meta.due_time).replace("T", " ").replace(/\.\d+Z$/, " UTC");
  const facts = [
    title.join("  "),
    `${method} ${harmless(meta.url)}`.trimStart(),
    `at ${meta.location_id}, ${when}${addressesIn(meta)}`,
    ...(meta.message === null ? [] : [harmless(meta.message)]),
    ...(certificate
      ? [`certificate of ${harmless(certificate.subject)} ${endOf(certificate)}`]
      : []),
  ];
  const times = result.timing.total === null ? "" : `\n${waterfallOf(result, screen)}`;
  return `${facts.join("\n")}\n${times}result ${result.id}\n`;
}

const endOf = ({ days, expiry }: Certificate): string =>
  days < 0 ? `ended on ${expiry.slice(0, "yyyy-mm-dd".length)}` : `ends in ${count(days, "day")}`;

const addressesIn = ({ dest_ip, response_size }: Result["meta"]): string =>
  [
    dest_ip === null ? "" : `, from ${dest_ip}`,
    response_size === null ? "" : `, ${response_size} bytes`,
  ].join("");

export function workflowOutcomeOf(outcome: WorkflowOutcome, screen: Screen): string {
  const { meta, counts, results = [] } = outcome;
  const parts = [
    count(counts.calls, "call"),
    `${counts.passed} passed`,
    count(counts.warnings, "warning"),
    `${counts.failed} failed`,
    `${counts.not_made} not made`,
  ];
  const title = `${paintedCategory(meta, screen)}  ${meta.result}  workflow ${harmless(meta.name)}`;
  const message = meta.message === null ? "" : `${harmless(meta.message)}\n`;
  const steps = results.map((step, n) => `\n${n + 1}. ${outcomeOf(step, screen)}`);
  return `${title}\n${message}${parts.join(", ")}\n${steps.join("")}\nworkflow result ${outcome.id}\n`;
}

export const RESULT_COLUMNS: readonly Column<ListedResult>[] = [
  { heading: "ID", cell: ({ id }) => id },
  {
    heading: "TIME",
    cell: ({ meta }) => (meta.start_time ?? meta.due_time).replace(/\.\d+Z$/, "Z"),
  },
  { heading: "LOCATION", cell: ({ meta }) => meta.location_id },
  { heading: "RESULT", cell: ({ meta }) => meta.result, color: ({ meta }) => colorOf(meta) },
  { heading: "HTTP", align: "right", cell: ({ meta }) => meta.http_code },
  {
    heading: "TIME TAKEN",
    align: "right",
    cell: ({ timing }) => (timing.total === null ? null : milliseconds(timing.total)),
  },
  { heading: "MESSAGE", cell: ({ meta }) => meta.message ?? "", shrinks: true },
];
