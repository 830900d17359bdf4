// The process with these settings: its readiness and its spools.
import { isAgent } from "../config/config.ts";
import { count } from "../model/count.ts";
import { HEARTBEATS_OF_SILENCE } from "../model/heartbeat.ts";
import { sum } from "../model/sum.ts";
import { readSamples } from "../runtime/metric-samples.ts";
import { readinessIn } from "../runtime/ops-client.ts";
import type { Check } from "./check.ts";
import { NotApplicable } from "./check.ts";
import { sizeOf } from "./amounts.ts";
import type { Finding } from "./finding.ts";
import { failure, failureOf, ok, skipped, warning } from "./finding.ts";
import type { Sources, SpoolFacts } from "./sources.ts";

export const processCheck = ({ config, ops }: Sources): Check => ({
  name: "process",
  needs: ["opsHost", "opsPort", "roles"],
  async run() {
    if (config.opsPort === 0)
      return [
        skipped("SONDE_OPS_PORT is 0: set it to the port of `sonde serve` to check that process"),
      ];
    const { url, status, text } = await ops("/readyz").catch((cause: unknown) => {
      const { finding } = failureOf(cause);
      throw new Error(
        `${finding}: start \`sonde serve\`, or set SONDE_OPS_PORT to that of the process on this machine`,
        { cause },
      );
    });
    const found = readinessFindings(url, status, text);
    if (status !== 200 || !isAgent(config)) return found;
    return [...found, ...silenceFindings((await ops("/metrics")).text)];
  },
});

export function silenceFindings(metrics: string): Finding[] {
  const unanswered = readSamples(metrics).sum("sonde_agent_unanswered_heartbeats") ?? 0;
  if (unanswered < HEARTBEATS_OF_SILENCE) return [];
  return [
    failure(
      `the hub has not answered the last ${unanswered} heartbeats of the agent here`,
      "if all agents are offline, start an aggregator or repair its database; if only this one is, set SONDE_LOCATION_KEY to the key that `sonde locations env` prints on the hub",
    ),
  ];
}

export function readinessFindings(url: string, status: number, text: string): Finding[] {
  const { failing = [], degraded = [] } = readinessIn(text);
  const found: Finding[] = [
    ...failing.map(({ part, reason }) =>
      failure(`the process is not ready: ${part}: ${reason}`, "check its log"),
    ),
    ...degraded.map(({ part, reason }) =>
      warning(`the process is ready, and ${part} is degraded: ${reason}`, "check its log"),
    ),
  ];
  if (found.length > 0) return found;
  return status === 200
    ? [ok(`${url} says that the process is ready`)]
    : [
        failure(
          `${url} answered ${status}, so it is not a Sonde process`,
          "set SONDE_OPS_PORT to the port of the process on this machine",
        ),
      ];
}

export const spoolCheck = ({ config, spools }: Sources): Check => ({
  name: "spool",
  needs: ["dataDir", "roles", "natsUrls"],
  async run() {
    if (!isAgent(config) || !config.natsUrls)
      throw new NotApplicable("does not apply: only agents with NATS have a spool");
    return [spoolFinding(await spools())];
  },
});

function spoolFinding(spools: readonly SpoolFacts[]): Finding {
  const full = spools.filter(({ reports }) => reports > 0);
  if (full.length === 0) return ok("no report waits on this machine's disk");
  const reports = sum(full.map((each) => each.reports));
  const bytes = sum(full.map((each) => each.bytes));
  return warning(
    `${count(reports, "report")} (${sizeOf(bytes)}) ${reports === 1 ? "waits" : "wait"} in ${full.map(({ file }) => file).join(", ")} (allowed: 0)`,
    "if NATS or the hub was down, wait; otherwise start the agent, and look for `bus did not accept` in its log",
  );
}
