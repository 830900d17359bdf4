// Sends every query of the dashboards to a Prometheus that scrapes the running service.
import { expect, it, vi } from "vitest";
import { RULE_FILES, startPrometheus } from "../support/prometheus.ts";
import type { Prometheus } from "../support/prometheus.ts";
import { startService } from "../support/service.ts";
import { filledIn, queries } from "./dashboards.ts";

/**
 * Metrics of events that did not happen, or of hours that have not passed: they may lack samples.
 */
const ABSENT = [
  "ALERTS",
  "probe_ssl_earliest_cert_expiry",
  "sonde_credential_expiry_timestamp_seconds",
  "sonde:probe_latency_seconds:median2h",
  "sonde:probe_latency_seconds:median1w",
];

const NAME = /\b(?:sonde|probe|process|nodejs)[_:][a-z0-9_:]+/g;

/** Matches queries for events only, where an empty answer is good news. */
const isOfEvents = (expr: string): boolean => expr.endsWith("> 0");

const isAbsent = (expr: string): boolean => ABSENT.some((name) => expr.includes(name));

it("every query finds data of a running service", async () => {
  await using service = await startService({ deployments: 3 });
  const processes = {
    hub: service.start("api,scheduler,aggregator"),
    "agent-local": service.start("agent"),
  };
  const targets = await Promise.all(
    Object.entries(processes).map(async ([name, process]) => ({
      url: await process.ops(),
      labels: { __meta_dns_name: name },
    })),
  );
  await using prometheus = await startPrometheus({
    targets,
    ruleFiles: RULE_FILES.map((file) => `deploy/prometheus/${file}`),
  });
  await service.completes();

  const call = await callIn(prometheus);
  const fill = (expr: string): string => filledIn(expr, { call, range: "10m" });
  const wanted = queries.filter(({ expr }) => !isOfEvents(expr) && !isAbsent(expr));
  await vi.waitFor(
    async () => {
      // Gives the API something to count between two scrapes.
      expect((await fetch(`${await processes.hub.api()}/api/2/calls/`)).status).toBe(401);
      const answers = await Promise.all(
        wanted.map(async ({ panel, expr }) => ({
          panel,
          expr,
          samples: await prometheus.query(fill(expr)),
        })),
      );
      const empty = answers.filter(({ samples }) => !samples.some(({ value }) => !isNaN(value)));
      expect(empty.map(({ panel, expr }) => ({ panel, expr }))).toEqual([]);
    },
    { timeout: 240_000, interval: 5000 },
  );

  const known = await metricsOf(targets.map(({ url }) => url));
  for (const { panel, expr } of queries.filter((query) => !wanted.includes(query))) {
    await expect(prometheus.query(fill(expr)), panel).resolves.toBeDefined();
    const names = (expr.match(NAME) ?? []).filter((name) => !name.includes(":"));
    expect(
      names.filter((name) => !known.has(name)),
      panel,
    ).toEqual([]);
  }
});

async function callIn(prometheus: Prometheus): Promise<string> {
  return vi.waitFor(
    async () => {
      const [sample] = await prometheus.query("probe_success");
      expect(sample).toBeDefined();
      return sample?.labels["call_id"] ?? "";
    },
    { timeout: 60_000, interval: 500 },
  );
}

/** Returns the names of all samples, including those of metrics that have none yet. */
async function metricsOf(urls: readonly string[]): Promise<Set<string>> {
  const pages = await Promise.all(urls.map(async (url) => (await fetch(`${url}/metrics`)).text()));
  return new Set(
    pages.flatMap((page) =>
      [...page.matchAll(/^# TYPE (\S+) (\S+)/gm)].flatMap(([, name = "", type]) =>
        type === "histogram" ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name],
      ),
    ),
  );
}
