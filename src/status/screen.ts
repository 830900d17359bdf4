// Renders a snapshot as lines of text.
import { tableOf } from "../client/table.ts";
import type { Column } from "../client/table.ts";
import { AGENT_STATES } from "../model/agent.ts";
import { count } from "../model/count.ts";
import { formatPeriodTime } from "../model/instant.ts";
import { categoryOf } from "../model/result.ts";
import { BEAT_LEAD_MS, MINUTE_MS } from "../model/slots.ts";
import type { FailingCall, RecentRuns } from "../store/results/recent-runs.ts";
import { lengthOf } from "../doctor/amounts.ts";
import type { LocationView, ProcessView, ServiceView, Snapshot } from "./snapshot.ts";

const LABEL_WIDTH = 11;

/** Replaces control characters in names and messages: none may reach the terminal. */
export function linesOf({ version, roles, now, process, service }: Snapshot): string[] {
  const lines = [
    `Sonde ${version} (${roles.join(", ")}) at ${formatPeriodTime(now)}`,
    "",
    labelled("process", process.readiness),
    ...agentLines(process),
    ...(typeof service === "string" ? [labelled("database", service)] : []),
    ...(typeof service === "object" ? serviceLines(service, now) : []),
  ];
  return lines.map((line) => line.replaceAll(/\p{C}/gu, "?"));
}

const labelled = (label: string, text: string): string => label.padEnd(LABEL_WIDTH) + text;

function agentLines({ agent }: ProcessView): string[] {
  if (!agent) return [];
  const { inFlight, held, spooled, clockOffset } = agent;
  return [
    labelled(
      "agent here",
      `${inFlight} in flight, ${held} held, ${count(spooled, "report")} in the spool, clock ${clockOf(clockOffset)}`,
    ),
  ];
}

function clockOf(offset: number | undefined): string {
  if (offset === undefined) return "not measured yet";
  if (offset === 0) return "right";
  return `${lengthOf(Math.abs(offset) * 1000)} ${offset > 0 ? "behind" : "ahead"}`;
}

function serviceLines(service: ServiceView, now: number): string[] {
  const { runs, pending, locations, failing } = service;
  const late = pending.map(
    ({ location_id, runs: waiting, oldest_due }) =>
      `${location_id} ${waiting} (oldest due ${lengthOf(now - oldest_due)} ago)`,
  );
  return [
    labelled("scheduler", leadOf(service, now)),
    ...runLines(runs),
    labelled("pending", late.length === 0 ? "none due" : late.join(", ")),
    "",
    ...locationLines(locations),
    ...(failing.length === 0 ? [] : ["", "Failing in the last minute:", ...failing.map(failureOf)]),
  ];
}

function leadOf({ lease }: ServiceView, now: number): string {
  if (!lease?.cursor) return "none has run yet";
  const slot = (ms: number): string => formatPeriodTime(ms).slice(11, 16);
  const { cursor, expires_at } = lease;
  const opensIn = cursor + MINUTE_MS - BEAT_LEAD_MS - now;
  if (expires_at < now) return `none leads; slots are open up to ${formatPeriodTime(cursor)}`;
  if (opensIn < -MINUTE_MS / 12)
    return `behind: slots are open up to ${slot(cursor)}, ${lengthOf(-opensIn)} late`;
  const ahead = cursor - now;
  return ahead > 0
    ? `leads; slot ${slot(cursor)} is open, ${lengthOf(ahead)} ahead`
    : `leads; slot ${slot(cursor)} is in progress, the next opens in ${lengthOf(Math.max(0, opensIn))}`;
}

function runLines(runs: readonly RecentRuns[]): string[] {
  const number = (fits: (run: RecentRuns) => boolean): number =>
    runs.filter(fits).reduce((sum, run) => sum + run.count, 0);
  const of = (category: string) => (run: RecentRuns) => categoryOf(run.result) === category;
  const missed = number(({ result }) => result === "MISSED");
  const notMade = number(({ result }) => categoryOf(result) === null) - missed;
  const all = number(() => true);
  return [
    labelled(
      "last min",
      `${number(of("PASS"))} passed, ${number(of("WARNING"))} warned, ${number(of("FAIL"))} failed, ${missed} missed, ${notMade} not made`,
    ),
    labelled("recorded", `${(all / 60).toFixed(1)} a second`),
    labelled("latency", spreadOf(runs, "latency", "worst_latency", 1000)),
    labelled("lateness", spreadOf(runs, "lateness", "worst_lateness", 1)),
    labelled("uncertain", spreadOf(runs, "uncertainty", undefined, 1000)),
  ];
}

/** `perMs`: how many of the columns' units make a millisecond. */
function spreadOf(
  runs: readonly RecentRuns[],
  average: "latency" | "lateness" | "uncertainty",
  worst: "worst_latency" | "worst_lateness" | undefined,
  perMs: number,
): string {
  const measured = runs.filter((run) => run[average] !== null);
  if (measured.length === 0) return "no run";
  const all = measured.reduce((sum, run) => sum + run.count, 0);
  const sum = measured.reduce((total, run) => total + run.count * (run[average] ?? 0), 0);
  const mean = `${(sum / all / perMs).toFixed(1)} ms on average`;
  if (worst === undefined) return mean;
  return `${mean}, ${lengthOf(Math.max(...measured.map((run) => (run[worst] ?? 0) / perMs)))} at most`;
}

/** Shows a column for each state that occurs, and always for ONLINE and OFFLINE. */
function locationLines(locations: readonly LocationView[]): string[] {
  const states = AGENT_STATES.filter(
    (state) =>
      state === "ONLINE" ||
      state === "OFFLINE" ||
      locations.some(({ states: all }) => all.has(state)),
  );
  const columns: readonly Column<LocationView>[] = [
    { heading: "LOCATION", cell: ({ id }) => id },
    { heading: "DEPLOYMENTS", cell: ({ deployments }) => deployments },
    ...states.map((state) => ({
      heading: state,
      cell: ({ states: all }: LocationView) => all.get(state) ?? 0,
    })),
    { heading: "RUNNING", cell: ({ inFlight }) => inFlight },
    { heading: "SPOOLED", cell: ({ spooled }) => spooled },
  ];
  // The view cuts lines to the terminal.
  const table = tableOf(columns, locations, { width: undefined, paint: (_, text) => text });
  return table.trimEnd().split("\n");
}

const failureOf = ({ count: number, result, name, call_id, location_id, message }: FailingCall) =>
  `  ${number} × ${result}  ${name || call_id} at ${location_id}${message ? `: ${message}` : ""}`;
