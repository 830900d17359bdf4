// The Grafana dashboards, without a Grafana: their types and how they are provisioned.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { createCallMetrics } from "../../src/call-metrics/call-metrics.ts";
import { Registry, renderMetrics } from "../../src/runtime/metrics.ts";
import { dashboards, queries, typeFaults } from "./dashboards.ts";

const textOf = (file: string): string => readFileSync(`deploy/grafana/dashboards/${file}`, "utf8");

describe.concurrent("the types of Grafana", () => {
  it("fit every dashboard", async () => {
    expect(await typeFaults(dashboards.map(({ file }) => textOf(file)))).toBe("");
  });

  it("catch a misspelt field", async () => {
    const misspelt = textOf("sonde-call.json").replace('"gridPos"', '"gridPosition"');
    expect(await typeFaults([misspelt])).toContain("gridPosition");
  });
});

it.each(dashboards)("$file has its own uid, and panels with ids, titles and queries", (each) => {
  const { uid, panels } = each.dashboard;
  expect(`${uid}.json`).toBe(each.file);
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  for (const { type, title, targets = [] } of panels) {
    expect(title).not.toBe("");
    expect(targets.length > 0).toBe(type !== "row");
  }
});

it("shows of several aggregators' gauges of a call that of the newest result", async () => {
  const registry = new Registry();
  createCallMetrics(registry, 1);
  const exposed = await renderMetrics(registry, []);
  const gauges = [...exposed.matchAll(/^# TYPE (probe_\w+) gauge$/gm)].map(([, name]) => name);
  const ofResult = gauges.filter((name) => name !== LAST_RUN);
  const shown = new RegExp(String.raw`(?<!_over_time\()\b(?:${ofResult.join("|")})({.*?})`, "g");
  let found = 0;
  for (const { panel, expr } of queries)
    for (const [gauge, selector] of expr.matchAll(shown)) {
      const newest = `max by (call_id, location) (${LAST_RUN}${selector})`;
      const last = `(${LAST_RUN}${selector} == on (call_id, location) group_left () ${newest})`;
      const ofNewest = `(${gauge} and on (job, instance, call_id, location) ${last})`;
      expect(expr, panel).toContain(ofNewest);
      found += 1;
    }
  expect(found).toBeGreaterThan(0);
});

const LAST_RUN = "probe_last_run_timestamp_seconds";

it("the dashboards are where Grafana of compose.yaml looks for them", () => {
  const { providers } = parse(
    readFileSync("deploy/grafana/provisioning/dashboards/sonde.yaml", "utf8"),
  ) as { readonly providers: readonly { readonly options: { readonly path: string } }[] };
  const { services } = parse(readFileSync("deploy/compose.yaml", "utf8")) as {
    readonly services: { readonly grafana: { readonly volumes: readonly string[] } };
  };
  const path = providers[0]?.options.path;
  expect(services.grafana.volumes).toContain(`./grafana/dashboards:${path}:ro`);
});
