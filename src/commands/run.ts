// `sonde run`: runs a call or a workflow now, over the API, and shows its outcome.
import type { Command } from "commander";
import type { Api, Json } from "../client/api.ts";
import { findObject } from "../client/find-object.ts";
import { EXIT_CODES, exitCodeOf, outcomeOf, workflowOutcomeOf } from "../client/outcome.ts";
import type { WorkflowOutcome } from "../client/outcome.ts";
import { pairBy } from "../client/resource-kind.ts";
import { KINDS } from "../client/resource-kinds.ts";
import { isInFlight } from "../model/result.ts";
import type { Result } from "../model/result.ts";
import { systemClock } from "../runtime/clock.ts";
import { addApiOptions, openApi } from "./api-client.ts";
import type { ApiOptions } from "./api-client.ts";
import { examples } from "./command.ts";
import type { Context } from "./command.ts";
import { wholeNumberOf } from "./option-values.ts";
import { printObject, screenOf } from "./output.ts";

const USUAL_WAIT_SECONDS = 60;
/** Of one request: proxies give up after 30 to 60 seconds without an answer. */
const MAX_WAIT_SECONDS = 20;
const POLL_MS = 250;

interface RunOptions extends ApiOptions {
  readonly location?: string;
  readonly variable?: Json;
  readonly wait?: true;
  /** Seconds. */
  readonly timeout: number;
}

const RUNNABLE = ["calls", "workflows"] as const;
type Runnable = (typeof RUNNABLE)[number];

export const isRunnable = (kind: string): kind is Runnable =>
  RUNNABLE.some((known) => known === kind);

export const addRunCommand = (program: Command, context: Context): void =>
  addRun(program, context, RUNNABLE, "sonde run");

/** Adds `sonde calls run` or `sonde workflows run`. */
export const addRunOf = (group: Command, context: Context, kind: Runnable): void =>
  addRun(group, context, [kind], `sonde ${kind} run`);

function addRun(
  group: Command,
  context: Context,
  kinds: readonly Runnable[],
  command: string,
): void {
  const names = kinds.map((kind) => KINDS[kind].one);
  const what = names.map((name) => `a ${name}`).join(" or ");
  const run = group
    .command("run")
    .summary(`Run ${what} now, and show its phases.`)
    .description(`Run ${what} now, once. With --wait, show its outcome.`)
    .argument(`<${names[0]}>`, `id or name of ${what}`)
    .option("--location <id>", "where (default: the service chooses)")
    .option("--variable <name=value>", "a variable of this run; may be repeated", collectPair)
    .option("--wait", "wait for the outcome, and exit with its code")
    .option(
      "--timeout <seconds>",
      "how long --wait waits",
      wholeNumberOf("--timeout", 1, 3600, "seconds"),
      USUAL_WAIT_SECONDS,
    );
  addApiOptions(run, "print the run, or with --wait the result, as JSON")
    .addHelpText("after", `\n${EXIT_CODE_HELP}`)
    .addHelpText(
      "after",
      examples(`${command} Shop`, `${command} Shop --location paris --wait && echo it works`),
    )
    .action((given: string, options: RunOptions) => runNow(context, kinds, given, options));
}

const EXIT_CODE_HELP = `Exit code with --wait:
  ${EXIT_CODES.PASS}  the call or workflow passed
  ${EXIT_CODES.FAIL}  it failed (a 5xx status, or no answer), or this command failed
  ${EXIT_CODES.WARNING}  a warning: a 3xx that leads nowhere, or a 4xx status
  ${EXIT_CODES.none}  the call was not made, for a reason that the result gives
  ${EXIT_CODES.unfinished}  no outcome in time`;

const collectPair = (text: string, before: Json = {}): Json => {
  const { key, value } = pairBy("--variable", "=")(text);
  return { ...before, [String(key)]: value };
};

async function runNow(
  context: Context,
  kinds: readonly Runnable[],
  given: string,
  options: RunOptions,
): Promise<void> {
  const api = openApi(context, options);
  const { kind, id } = await findObject(api, kinds, given);
  const until = systemClock.monotonic() + options.timeout * 1000;
  const wait = options.wait ? Math.min(options.timeout, MAX_WAIT_SECONDS) : 0;
  const run = await api.send("POST", `/${kind}/${id}/run`, {
    query: { wait },
    body: { location_id: options.location ?? "", context: options.variable ?? {} },
    extraMs: wait * 1000,
  });
  const resultId = String(run["result_id"] ?? run["workflow_result_id"]);
  if (!options.wait) {
    if (options.json) return printObject(context, run);
    const place = String(run["location_id"]);
    return context.print(
      `ordered at ${place}: \`sonde results get ${resultId}\` shows its progress\n`,
    );
  }
  const path = kind === "calls" ? `/results/${resultId}/` : `/workflows/results/${resultId}/`;
  const result = await endOf(api, path, until);
  printResult(context, result, options);
  context.exitWith(exitCodeOf((result as unknown as Result).meta));
}

/**
 * Resolves to the result when the run has ended, or as it is at `until`, on the monotonic clock.
 */
async function endOf(api: Api, path: string, until: number): Promise<Json> {
  for (;;) {
    const result = await api.get(path);
    const hasEnded = !isInFlight((result as unknown as Result).meta);
    if (hasEnded || systemClock.monotonic() >= until) return result;
    await systemClock.pause(POLL_MS);
  }
}

/** Prints the result of a call or of a workflow. */
export function printResult(context: Context, result: Json, { json }: ApiOptions): void {
  if (json) return printObject(context, result);
  const isWorkflow = "counts" in result;
  context.print(
    isWorkflow
      ? workflowOutcomeOf(result as unknown as WorkflowOutcome, screenOf())
      : outcomeOf(result as unknown as Result, screenOf()),
  );
}
