// Planted faults fire the right alerts: the shipped rules, in a Prometheus that scrapes real
// processes every other second.
import { fileURLToPath } from "node:url";
import { describe, expect, it, vi } from "vitest";
import { quickRules } from "../support/alert-rules.ts";
import { deployOften } from "../support/deployments.ts";
import { startNatsServer } from "../support/nats-server.ts";
import { startPostgres } from "../support/postgres.ts";
import { firing, startPrometheus, targetsOf, untilQuiet } from "../support/prometheus.ts";
import type { Alert, Prometheus } from "../support/prometheus.ts";
import { startService } from "../support/service.ts";
import { startTarget } from "../support/target-server.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

/** A minute in the rules takes three seconds here: a stall is shorter than any `for`. */
const TIMES = 20;
const STEPPING = fileURLToPath(new URL("../support/stepping-clock.ts", import.meta.url));

interface Fired {
  readonly name: string;
  readonly severity: "critical" | "warning";
  readonly labels?: Readonly<Record<string, string>>;
}

const namesOf = (alerts: readonly Alert[]): string[] => [
  ...new Set(alerts.map(({ name }) => name)),
];

const WAIT = { timeout: 240_000, interval: 500 };

/** Resolves once the expression has a sample. */
const untilSampled = (prometheus: Prometheus, expression: string): Promise<void> =>
  vi.waitFor(async () => expect(await prometheus.query(expression)).not.toEqual([]), WAIT);

/** Resolves once each of these has fired, with everything that fired meanwhile. */
async function untilFired(prometheus: Prometheus, expected: readonly Fired[]): Promise<Alert[]> {
  const seen: Alert[] = [];
  await vi.waitFor(async () => {
    seen.push(...(await firing(prometheus)));
    expect(expected.filter((each) => !seen.some((alert) => fits(alert, each)))).toEqual([]);
  }, WAIT);
  return seen;
}

const fits = (alert: Alert, { name, severity, labels = {} }: Fired): boolean =>
  alert.name === name &&
  alert.labels["severity"] === severity &&
  Object.entries(labels).every(([label, value]) => alert.labels[label] === value);

const criticalOf = (alerts: readonly Alert[]): string[] =>
  alerts
    .filter(({ labels }) => labels["severity"] === "critical")
    .map(({ name, labels: { location, service, call_id, reason } }) =>
      [name, location ?? service ?? call_id ?? reason].filter(Boolean).join(" "),
    );

describe.concurrent("alerts fire, without unrelated critical ones", () => {
  it("for killed and cut-off agents, a location without agents, a skewed clock and a failing target", async () => {
    let fails = false;
    await using target = await startTarget(({ url }, response) => {
      response.statusCode = fails && url !== "/steady" ? 500 : 200;
      response.end();
    });
    await using service = await startService({
      deployments: 0,
      settings: { SONDE_EGRESS_ALLOW: target.authority },
    });
    await using line = await startTcpProxy(Number(new URL(service.natsUrl).port));
    using rules = quickRules(TIMES);
    const { url } = target;
    await deployOften(service.store, { id: "fragile", location: "paris", url, count: 20 });
    await deployOften(service.store, { id: "in-tokyo", location: "tokyo", url, count: 5 });
    await deployOften(service.store, { id: "in-osaka", location: "osaka", url, count: 20 });
    // One a second from an agent without faults: the rules take a gap for results that are not
    // stored, and killed agents hold runs for ten seconds.
    const steady = { id: "steady", location: "berlin", url: `${url}/steady`, count: 60 };
    await deployOften(service.store, steady);
    const hub = service.start("api,scheduler,aggregator");
    const agentAt = (location: string, settings = {}) =>
      service.start("agent", { SONDE_LOCATION: location, ...settings });
    const skewed = agentAt("paris", {
      NODE_OPTIONS: `--import=${STEPPING}`,
      CLOCK_STEPS: "600000",
    });
    const killed = [agentAt("paris"), agentAt("tokyo")] as const;
    const cutOff = agentAt("osaka", { SONDE_NATS_URL: `nats://127.0.0.1:${line.port}` });
    const targets = await targetsOf({
      hub,
      "agent-paris-1": skewed,
      "agent-paris-2": killed[0],
      "agent-tokyo-1": killed[1],
      "agent-osaka-1": cutOff,
      "agent-berlin-1": agentAt("berlin"),
    });
    await using prometheus = await startPrometheus({
      ruleFiles: rules.files,
      targets,
      interval: "2s",
    });
    await untilSampled(prometheus, 'count(sonde_agents{state="online"} == 1) == 3');
    await untilSampled(prometheus, "count(sonde:probe_success:newest == 1) == 4");
    await untilQuiet(prometheus);

    fails = true;
    line.cut();
    skewed.signal("SIGUSR2");
    for (const each of killed) each.signal("SIGKILL");
    const fired = await untilFired(prometheus, [
      { name: "SondeAgentOffline", severity: "warning", labels: { location: "paris" } },
      { name: "SondeProcessDown", severity: "warning", labels: { service: "agent-paris" } },
      { name: "SondeLocationWithoutAgents", severity: "critical", labels: { location: "tokyo" } },
      { name: "SondeProcessDown", severity: "critical", labels: { service: "agent-tokyo" } },
      { name: "SondeNatsUnreachable", severity: "warning", labels: { location: "osaka" } },
      { name: "SondeSpoolGrowing", severity: "warning", labels: { location: "osaka" } },
      { name: "SondeClockSkewed", severity: "warning", labels: { service: "agent-paris" } },
      { name: "SondeCallFailing", severity: "critical", labels: { call_id: "fragile" } },
      {
        name: "SondeErrorBudgetBurn",
        severity: "critical",
        labels: { call_id: "fragile", window: "1h" },
      },
    ]);
    const related = [
      "SondeLocationWithoutAgents tokyo",
      "SondeLocationWithoutAgents osaka",
      "SondeProcessDown tokyo",
      "SondeCallFailing fragile",
      "SondeErrorBudgetBurn fragile",
      "SondeRunsMissed started_late",
      "SondeRunsMissed agent_lost",
      "SondeRunsMissed agent_offline",
    ];
    expect(related).toEqual(expect.arrayContaining(criticalOf(fired)));
  });

  it("while NATS or PostgreSQL is stopped, and end once it is back", async () => {
    await using postgres = await startPostgres();
    await using nats = await startNatsServer();
    await using service = await startService({
      deployments: 30,
      natsUrl: nats.url,
      databaseUrl: await postgres.createDatabase(),
    });
    using rules = quickRules(TIMES);
    const targets = await targetsOf({
      api: service.start("api"),
      scheduler: service.start("scheduler"),
      aggregator: service.start("aggregator"),
      "agent-local-1": service.start("agent"),
    });
    await using prometheus = await startPrometheus({
      ruleFiles: rules.files,
      targets,
      interval: "2s",
    });
    await untilSampled(prometheus, "sonde_aggregator_last_recorded_timestamp_seconds");
    await untilQuiet(prometheus);

    await nats.kill();
    const firedWithoutNats = await untilFired(prometheus, [
      { name: "SondeNatsUnreachable", severity: "critical", labels: { service: "scheduler" } },
      { name: "SondeNatsUnreachable", severity: "critical", labels: { service: "aggregator" } },
      { name: "SondeNatsUnreachable", severity: "warning", labels: { location: "local" } },
    ]);
    const withoutNats = ["NatsUnreachable", "BeatStopped", "ResultsNotStored", "RunsMissed"];
    expectCritical(firedWithoutNats, [...withoutNats, "LocationWithoutAgents"]);
    await nats.restart();
    await untilQuiet(prometheus);

    await postgres.kill();
    const firedWithoutDatabase = await untilFired(prometheus, [
      { name: "SondeDatabaseUnreachable", severity: "critical", labels: { service: "api" } },
      { name: "SondeDatabaseUnreachable", severity: "critical", labels: { service: "scheduler" } },
      { name: "SondeDatabaseUnreachable", severity: "critical", labels: { service: "aggregator" } },
    ]);
    expectCritical(firedWithoutDatabase, [
      "DatabaseUnreachable",
      "BeatStopped",
      "ResultsNotStored",
      "ApiErrors",
    ]);
    await postgres.start();
    await untilQuiet(prometheus);
  });
});

/** Expects every critical alert to have one of these names. */
function expectCritical(fired: readonly Alert[], related: readonly string[]): void {
  const critical = fired.filter(({ labels }) => labels["severity"] === "critical");
  const names = related.map((name) => `Sonde${name}`);
  expect(names).toEqual(expect.arrayContaining(namesOf(critical)));
}
