// The alert rules against the metrics of a running system in which nothing is wrong.
import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";
import { quickRules, rules, selectorsOf } from "../support/alert-rules.ts";
import { deployOften } from "../support/deployments.ts";
import { firing, startPrometheus, targetsOf, untilQuiet } from "../support/prometheus.ts";
import type { Alert, Prometheus } from "../support/prometheus.ts";
import { startService } from "../support/service.ts";

/** A minute in the rules takes three seconds here: a stall is shorter than any `for`. */
const TIMES = 20;
const QUIET_FOR_MS = 30_000;

/** Series that a healthy system lacks, by the prefix of their selectors. */
const NOT_YET: Readonly<Record<string, string>> = {
  'sonde_api_requests_total{status=~"5.."}': "the API has not failed",
  sonde_credential_expiry_timestamp_seconds: "the test's servers ask for no credentials",
  'probe_runs_total{result=~"unable_to_run|skipped"}': "every call is made",
  probe_ssl_earliest_cert_expiry: "the target speaks plain HTTP",
  "sonde:probe_latency_seconds:median1w": "takes a day of results",
};

const isExpected = (selector: string): boolean =>
  !Object.keys(NOT_YET).some((each) => selector.startsWith(each));

/**
 * Starts a call that runs every ten seconds, on a system of four processes that Prometheus scrapes.
 * With more runs, those that a busy machine delays are enough for SondeTimingsUncertain.
 */
async function startWatched(stack: AsyncDisposableStack): Promise<Prometheus> {
  const service = stack.use(await startService({ deployments: 0 }));
  await deployOften(service.store, { id: "often", url: service.target.url, count: 6 });
  const api = service.start("api");
  const processes = {
    api,
    scheduler: service.start("scheduler"),
    aggregator: service.start("aggregator"),
    "agent-local-1": service.start("agent"),
  };
  await Promise.all(Object.values(processes).map((each) => each.ready()));
  await fetch(`${await api.api()}/api/2/calls/`);
  const { files } = stack.use(quickRules(TIMES));
  return stack.use(
    await startPrometheus({
      ruleFiles: files,
      targets: await targetsOf(processes),
      interval: "2s",
    }),
  );
}

it("the alert rules find every series they need, and none fires", async () => {
  await using stack = new AsyncDisposableStack();
  const prometheus = await startWatched(stack);
  const all = [...new Set(rules.flatMap(({ expr }) => selectorsOf(expr)))].filter(isExpected);
  let missing = all;
  const ask = async () => (missing = await missingOf(prometheus, missing));
  const interval = 2000; // Prometheus' own
  await expect.poll(ask, { timeout: 200_000, interval }).toEqual([]);
  await expect.poll(() => missingOf(prometheus, all), { interval }).toEqual([]);
  // Runs may have been MISSED before the system was complete.
  await untilQuiet(prometheus);
  for (const until = performance.now() + QUIET_FOR_MS; performance.now() < until;) {
    expect((await firing(prometheus)).map(textOf)).toEqual([]);
    await delay(500);
  }
  const evaluated = await prometheus.rules();
  expect(evaluated.filter(({ health }) => health !== "ok")).toEqual([]);
  expect(evaluated.length).toBe(rules.length);
  for (const { expr } of rules)
    await expect.poll(() => unknownLabels(prometheus, expr), { interval }).toEqual([]);
}, 480_000);

async function missingOf(prometheus: Prometheus, selectors: readonly string[]): Promise<string[]> {
  const found = await Promise.all(selectors.map((selector) => prometheus.query(selector)));
  return selectors.filter((_, at) => found[at]?.length === 0);
}

/** Returns the labels that an expression groups or matches by, and that none of its series has. */
async function unknownLabels(prometheus: Prometheus, expression: string): Promise<string[]> {
  const selectors = selectorsOf(expression).filter(isExpected);
  if (selectors.length === 0) return [];
  const series = (await Promise.all(selectors.map((each) => prometheus.query(each)))).flat();
  const known = new Set(series.flatMap(({ labels }) => Object.keys(labels)));
  const used = [...expression.matchAll(/\b(?:by|on) \(([^)]+)\)/g)];
  return used.flatMap(([, names = ""]) => names.split(", ")).filter((name) => !known.has(name));
}

const textOf = ({ name, annotations }: Alert): string =>
  `${name}: ${annotations["description"] ?? ""}`;
