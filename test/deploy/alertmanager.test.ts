// deploy/alertmanager/alertmanager.yml notifies once for each cause.
import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { startAlertmanager } from "../support/alertmanager.ts";
import { findProgram } from "../support/programs.ts";
import { until } from "../support/until.ts";
import { alertNames } from "../support/alert-rules.ts";

const FILE = "deploy/alertmanager/alertmanager.yml";

type Labels = Readonly<Record<string, string>>;

const critical = (name: string, labels: Labels = {}): Labels => ({
  alertname: `Sonde${name}`,
  severity: "critical",
  ...labels,
});
const warning = (name: string, labels: Labels = {}): Labels => ({
  ...critical(name, labels),
  severity: "warning",
});

const paris = { service: "agent-paris", location: "paris" };
const HUB_LOSES_SIGHT = [
  warning("AgentOffline", { location: "paris" }),
  critical("LocationWithoutAgents", { location: "paris" }),
  critical("RunsMissed", { reason: "agent_offline" }),
  critical("ResultsNotStored"),
];

/** The alerts that each cause makes superfluous, and those that it does not. */
const CASES: readonly {
  readonly what: string;
  readonly causes: readonly Labels[];
  readonly follow: readonly Labels[];
}[] = [
  {
    what: "the database is away",
    causes: [
      critical("DatabaseUnreachable", { job: "sonde", service: "api" }),
      critical("DiskNearlyFull", { instance: "a", disk: "data" }),
      critical("CallFailing", { call_id: "c1" }),
    ],
    follow: [
      ...HUB_LOSES_SIGHT,
      critical("BeatStopped"),
      critical("ApiErrors", { service: "api" }),
      warning("TicksTooOld", { location: "paris" }),
      warning("SpoolGrowing", { instance: "b", ...paris }),
    ],
  },
  {
    what: "NATS is away",
    causes: [
      critical("NatsUnreachable", { service: "api" }),
      critical("SpoolGrowing", { instance: "b", ...paris }),
    ],
    follow: [
      ...HUB_LOSES_SIGHT,
      warning("NatsUnreachable", paris),
      warning("SpoolGrowing", { instance: "b", ...paris }),
      warning("RunsMissed", { reason: "hub_unreachable" }),
    ],
  },
  {
    what: "no scheduler runs",
    causes: [critical("ProcessDown", { service: "scheduler" }), critical("ApiErrors")],
    follow: [critical("BeatStopped"), critical("RunsMissed", { reason: "scheduler_down" })],
  },
  {
    what: "no aggregator runs, in Kubernetes",
    causes: [critical("ProcessDown", { service: "sonde-aggregator" })],
    follow: [...HUB_LOSES_SIGHT, warning("SpoolGrowing", { instance: "b" })],
  },
  ...["hub", "sonde"].map((service) => ({
    what: `the only process of the hub is down, ${service}`,
    causes: [critical("ProcessDown", { service })],
    follow: [
      ...HUB_LOSES_SIGHT,
      critical("BeatStopped"),
      warning("InsightsOverdue"),
      warning("SpoolGrowing", { instance: "b", ...paris }),
    ],
  })),
  {
    what: "one location has no agents, another one fewer",
    causes: [
      critical("LocationWithoutAgents", { location: "paris" }),
      warning("AgentOffline", { location: "tokyo" }),
      critical("ProcessDown", { service: "api" }),
      critical("RunsMissed", { reason: "started_late" }),
    ],
    follow: [
      warning("AgentOffline", { location: "paris" }),
      critical("ProcessDown", paris),
      warning("ProcessDown", { service: "agent-tokyo", location: "tokyo", instance: "t" }),
      critical("RunsMissed", { reason: "agent_offline" }),
    ],
  },
  {
    what: "a stream has no room",
    causes: [critical("MessagesRefused", { messages: "ticks" })],
    follow: [warning("StreamNearLimit"), critical("RunsMissed", { reason: "bus_full" })],
  },
  {
    what: "a call fails everywhere, another at one location",
    causes: [
      critical("CallFailing", { call_id: "c1" }),
      warning("CallFailing", { call_id: "c2", location: "paris" }),
      warning("ErrorBudgetBurn", { call_id: "c2", window: "3d" }),
    ],
    follow: [
      critical("ErrorBudgetBurn", { call_id: "c1", window: "1h" }),
      warning("CallSlow", { call_id: "c1", location: "paris" }),
    ],
  },
  {
    what: "budgets burn fast and slowly",
    causes: [
      critical("ErrorBudgetBurn", { call_id: "c1", window: "6h" }),
      warning("ErrorBudgetBurn", { call_id: "c2", window: "1d" }),
    ],
    follow: [warning("ErrorBudgetBurn", { call_id: "c1", window: "1d" })],
  },
];

const textOf = (labels: Labels): string =>
  JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => a.localeCompare(b)));

it("amtool accepts the configuration", () => {
  const amtool = findProgram("amtool");
  if (amtool === undefined)
    throw new Error("amtool is not installed: apt-get install prometheus-alertmanager");
  expect(execFileSync(amtool, ["check-config", FILE], { encoding: "utf8" })).toContain("SUCCESS");
});

describe.concurrent("alerts that follow from another are not sent", () => {
  it.each(CASES)("when $what", async ({ causes, follow }) => {
    for (const { alertname } of [...causes, ...follow]) expect(alertNames).toContain(alertname);
    await using alertmanager = await startAlertmanager(FILE);
    await alertmanager.send([...causes, ...follow]);
    await until(async () => {
      const notified = await alertmanager.notified();
      expect(notified.map(textOf).toSorted()).toEqual(causes.map(textOf).toSorted());
    });
  });
});
