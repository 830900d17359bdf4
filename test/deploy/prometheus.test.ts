// Checks the Prometheus configuration and its alert rules with Prometheus' own tools.
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { findProgram } from "../support/programs.ts";
import { SHIPPED_CONFIG, startPrometheus } from "../support/prometheus.ts";
import { alertNames, alertRules, RULES, ruleTests, RULE_TESTS } from "../support/alert-rules.ts";
import { filledIn, queries } from "./dashboards.ts";

const runProgram = promisify(execFile);

/** Rejects with the tool's output. */
async function promtool(...args: readonly string[]): Promise<string> {
  const program = findProgram("promtool");
  if (program === undefined)
    throw new Error("promtool is not installed: apt-get install prometheus");
  // With fewer garbage collections, it takes a fifth less of a processor.
  const { stdout } = await runProgram(program, args, { env: { ...process.env, GOGC: "400" } });
  return stdout;
}

const namesWith = (expects: boolean): Set<string> =>
  new Set(
    ruleTests
      .filter(({ exp_alerts = [] }) => exp_alerts.length > 0 === expects)
      .map(({ alertname }) => alertname),
  );

describe.concurrent("Prometheus accepts", () => {
  it("the configuration", async () => {
    expect(await promtool("check", "config", SHIPPED_CONFIG)).toContain("SUCCESS: 2 rule files");
  });

  it("the rules, without a remark", async () => {
    await promtool("check", "rules", "--lint=all", "--lint-fatal", ...RULES);
  });

  it.each(RULE_TESTS)(
    "the tests of rules: %s",
    // promtool plays days of samples, which takes long on a busy machine.
    { timeout: 300_000 },
    async (file) => {
      await promtool("test", "rules", file);
    },
  );
});

describe("each alert", () => {
  it.each(alertRules)("$alert $labels says what is wrong and what to do", (rule) => {
    const { alert, labels, annotations } = rule;
    expect(labels["severity"]).toMatch(/^(critical|warning|info)$/);
    expect(annotations).toEqual({
      summary: expect.stringMatching(/^\S.+\S$/),
      description: expect.stringMatching(/^\S.+\.(?:\{\{ end \}\})?$/),
      runbook_url: `{{ or $externalLabels.sonde_runbooks "docs/runbooks" }}/${alert}.md`,
    });
  });

  it("fires in a test, in each of its forms", () => {
    const fired = ruleTests.flatMap(({ alertname, exp_alerts = [] }) =>
      exp_alerts.map(({ exp_labels }) => formOf(alertname, exp_labels)),
    );
    const forms = alertRules.map(({ alert, labels }) => formOf(alert, labels));
    expect(
      forms.filter((form) => !fired.includes(form)),
      "add one with exp_alerts to deploy/prometheus/tests/",
    ).toEqual([]);
  });

  it("does not fire in another test", () => {
    const silent = namesWith(false);
    expect(
      alertNames.filter((name) => !silent.has(name)),
      "add one without exp_alerts to deploy/prometheus/tests/",
    ).toEqual([]);
  });

  it("is in docs/alerts.md, with its severities", () => {
    const rows = readFileSync("docs/alerts.md", "utf8").matchAll(
      /^\| \[(\w+)\]\(runbooks\/(\w+)\.md\) +\| ([a-z, ]+?) +\|/gm,
    );
    const listed = [...rows].map(([, name, runbook, severities]) => ({
      name,
      runbook,
      severities,
    }));
    expect(listed.toSorted((a, b) => (a.name ?? "").localeCompare(b.name ?? ""))).toEqual(
      alertNames
        .toSorted((a, b) => a.localeCompare(b))
        .map((name) => ({ name, runbook: name, severities: severitiesOf(name) })),
    );
  });
});

it("the dashboards count a call that only ends in warnings as failing, as alerts do", async () => {
  const about = (title: string) => queries.filter(({ panel }) => panel.endsWith(`: ${title}`));
  const success = [...about("Success"), ...about("Calls and locations")];
  const rates = success.filter(({ expr }) => expr.includes("probe_runs_total"));
  expect(rates).toHaveLength(4);
  const samples = { call_id: "shop", call_name: "Shop", location: "paris" };
  const valueOf = (expr: string, value: number) => ({
    expr: filledIn(expr, { call: "shop", range: "10m" }),
    eval_time: "20m",
    exp_samples: [{ labels: selectorOf(samples, labelsBy(expr)), value }],
  });
  const series = (result: string, values: string) => ({
    series: `probe_runs_total${selectorOf({ ...samples, result })}`,
    values,
  });
  const test = {
    interval: "1m",
    input_series: [series("pass", "0x30"), series("warning", "0+1x30"), series("fail", "0x30")],
    promql_expr_test: [
      ...rates.map(({ expr }) => valueOf(expr, 0)),
      ...about("Failures").map(({ expr }) => valueOf(expr, 10)),
    ],
  };
  const folder = mkdtempSync(join(tmpdir(), "sonde-promtool-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "tests.yml"), JSON.stringify({ rule_files: [], tests: [test] }));
  await promtool("test", "rules", join(folder, "tests.yml"));
});

/** The labels that a query keeps. */
const labelsBy = (expr: string): string[] =>
  /\bby \(([\w, ]+)\)/.exec(expr)?.[1]?.split(", ") ?? [];

const selectorOf = (
  labels: Readonly<Record<string, string>>,
  kept: readonly string[] = Object.keys(labels),
): string => `{${kept.map((name) => `${name}="${labels[name]}"`).join(",")}}`;

const formOf = (name: string, labels: Readonly<Record<string, string>>): string =>
  [name, labels["severity"], labels["window"] ?? ""].join(" ");

const severitiesOf = (name: string): string => {
  const given = alertRules.filter(({ alert }) => alert === name);
  const severities = new Set(given.map(({ labels }) => labels["severity"] ?? ""));
  return [...severities].toSorted((a, b) => a.localeCompare(b)).join(", ");
};

it("labels interchangeable processes with one service, and agents with their location", async () => {
  const names = ["api", "scheduler", "agent-paris-1", "agent-paris-2", "agent-tokyo-east-1"];
  await using prometheus = await startPrometheus({
    targets: names.map((name, at) => ({
      url: `http://127.0.0.1:${at + 1}`,
      labels: { __meta_dns_name: name },
    })),
  });
  const labelled = (service: string, location?: string) => ({
    job: "sonde",
    service,
    ...(location !== undefined && { location }),
  });
  await expect
    .poll(async () => {
      const samples = await prometheus.query("sort(up)");
      return samples
        .toSorted((a, b) => (a.labels["instance"] ?? "").localeCompare(b.labels["instance"] ?? ""))
        .map(({ labels: { job, service, location } }) => ({
          job,
          service,
          ...(location !== undefined && { location }),
        }));
    })
    .toEqual([
      labelled("api"),
      labelled("scheduler"),
      labelled("agent-paris", "paris"),
      labelled("agent-paris", "paris"),
      labelled("agent-tokyo-east", "tokyo-east"),
    ]);
});
