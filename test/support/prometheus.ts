// A real Prometheus on loopback, in a temporary folder, that scrapes a test's processes.
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, vi } from "vitest";
import { parse, stringify } from "yaml";
import { freePort } from "./free-port.ts";
import { killAtExit } from "./kill-at-exit.ts";
import { track } from "./no-leftovers.ts";
import type { SondeProcess } from "./process.ts";
import { findProgram } from "./programs.ts";

export const SHIPPED_CONFIG = "deploy/prometheus/prometheus.yml";

/** Below `deploy/prometheus/`. */
export const RULE_FILES = ["rules/sonde.yml", "rules/calls.yml"] as const;

export interface ScrapedTarget {
  /** `http://<host>:<port>`, as `SondeProcess.ops` returns it. */
  readonly url: string;
  /**
   * Labels of the target; those with `__meta_…` are for the relabelling of the shipped
   * configuration.
   */
  readonly labels: Readonly<Record<string, string>>;
}

export interface PrometheusOptions {
  /** Default none, until `scrape` is called. */
  readonly targets?: readonly ScrapedTarget[];
  /** Default none. */
  readonly ruleFiles?: readonly string[];
  /** Interval of scrapes and rules, in the syntax of Prometheus; default one second. */
  readonly interval?: string;
  readonly externalLabels?: Readonly<Record<string, string>>;
}

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Alert {
  readonly name: string;
  readonly state: "pending" | "firing";
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface Rule {
  /** `recording` rules have no alerts. */
  readonly type: "alerting" | "recording";
  readonly name: string;
  readonly query: string;
  /** `unknown` until it is evaluated. */
  readonly health: "ok" | "err" | "unknown";
}

export interface Prometheus extends AsyncDisposable {
  readonly url: string;
  /** Replaces the targets; Prometheus takes a second or so to notice. */
  scrape(targets: readonly ScrapedTarget[]): void;
  /** Rejects with Prometheus' message if the expression is wrong. */
  query(expression: string): Promise<Sample[]>;
  alerts(): Promise<Alert[]>;
  rules(): Promise<Rule[]>;
}

export async function startPrometheus(options: PrometheusOptions = {}): Promise<Prometheus> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "sonde-prometheus-"));
  const targetsFile = join(folder, "targets.json");
  const scrape: Prometheus["scrape"] = (targets) => {
    writeFileSync(`${targetsFile}.new`, JSON.stringify(targets.map(targetGroup)));
    renameSync(`${targetsFile}.new`, targetsFile); // Prometheus must never read half of it
  };
  scrape(options.targets ?? []);
  writeFileSync(join(folder, "prometheus.yml"), configOf(options, targetsFile));
  const server = spawnPrometheus(folder, port);
  const stopped = track(`Prometheus on port ${port}`);
  const url = `http://127.0.0.1:${port}`;
  const end = async (): Promise<void> => {
    await server.end();
    rmSync(folder, { recursive: true, force: true });
    stopped();
  };
  try {
    await untilReady(url, server);
  } catch (cause) {
    await end();
    throw cause;
  }
  return {
    url,
    scrape,
    async query(expression) {
      const query = new URLSearchParams({ query: expression });
      const { result } = await ask<{ result: Vector | [number, string] }>(
        url,
        `query?${query.toString()}`,
      );
      return isScalar(result)
        ? [{ labels: {}, value: Number(result[1]) }]
        : result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
    },
    async alerts() {
      const { alerts } = await ask<{ alerts: readonly Omit<Alert, "name">[] }>(url, "alerts");
      return alerts.map((alert) => ({ ...alert, name: alert.labels["alertname"] ?? "" }));
    },
    async rules() {
      const { groups } = await ask<{ groups: readonly { rules: Rule[] }[] }>(url, "rules");
      return groups.flatMap(({ rules }) => rules);
    },
    [Symbol.asyncDispose]: end,
  };
}

export const firing = async (prometheus: Prometheus): Promise<Alert[]> =>
  (await prometheus.alerts()).filter(({ state }) => state === "firing");

const QUIET_FOR_MS = 10_000;

/** What is true of a machine that runs other tests meanwhile. */
const OF_LOAD: readonly string[] = ["SondeTimingsUncertain", "SondeLateStarts"];

/**
 * Resolves once nothing has fired for ten seconds, except about the load of this machine: a process
 * that stalls is quiet for a while.
 */
export async function untilQuiet(prometheus: Prometheus): Promise<void> {
  let loud = performance.now();
  await vi.waitFor(
    async () => {
      const all = await firing(prometheus);
      const alerts = all.filter(({ name }) => !OF_LOAD.includes(name));
      if (alerts.length > 0) loud = performance.now();
      expect(alerts.map(({ name }) => name)).toEqual([]);
      expect(performance.now() - loud).toBeGreaterThan(QUIET_FOR_MS);
    },
    { timeout: 240_000, interval: 500 },
  );
}

/** Returns targets for processes, under the names that deploy/compose.yaml would give them. */
export const targetsOf = (
  processes: Readonly<Record<string, SondeProcess>>,
): Promise<ScrapedTarget[]> =>
  Promise.all(
    Object.entries(processes).map(async ([name, sonde]) => ({
      url: await sonde.ops(),
      labels: { __meta_dns_name: name },
    })),
  );

const targetGroup = ({ url, labels }: ScrapedTarget) => ({ targets: [new URL(url).host], labels });

/** Builds the shipped scrape configuration, with targets from a file instead of DNS. */
function configOf(
  { ruleFiles = [], interval = "1s", externalLabels = {} }: PrometheusOptions,
  targetsFile: string,
): string {
  const shipped = parse(readFileSync(SHIPPED_CONFIG, "utf8")) as {
    readonly scrape_configs: readonly Record<string, unknown>[];
  };
  const sonde = shipped.scrape_configs.find(({ job_name }) => job_name === "sonde");
  const { dns_sd_configs: _, static_configs: _static, ...kept } = sonde ?? {};
  return stringify({
    global: {
      scrape_interval: interval,
      scrape_timeout: interval,
      evaluation_interval: interval,
      external_labels: externalLabels,
    },
    rule_files: ruleFiles.map((file) => resolve(file)),
    scrape_configs: [
      { ...kept, file_sd_configs: [{ files: [targetsFile], refresh_interval: "1s" }] },
    ],
  });
}

interface Server {
  /** Rejects with its output if it ends unexpectedly. */
  readonly ended: Promise<never>;
  end(): Promise<void>;
}

function spawnPrometheus(folder: string, port: number): Server {
  const program = findProgram("prometheus");
  if (program === undefined)
    throw new Error("Prometheus is not installed: apt-get install prometheus");
  const server: ChildProcess = killAtExit(
    spawn(
      program,
      [
        "--config.file=prometheus.yml",
        "--storage.tsdb.path=data",
        `--web.listen-address=127.0.0.1:${port}`,
        "--log.level=warn",
      ],
      { cwd: folder, stdio: ["ignore", "ignore", "pipe"] },
    ),
  );
  const said: string[] = [];
  server.stderr?.setEncoding("utf8").on("data", (text: string) => said.push(text));
  const exited = once(server, "close");
  const ended = exited.then(() => {
    throw new Error(`Prometheus ended: ${said.join("")}`);
  });
  ended.catch(() => undefined); // rejects for those who await it
  return {
    ended,
    async end() {
      server.kill("SIGKILL");
      await exited;
    },
  };
}

const READY_WITHIN_MS = 30_000;

async function untilReady(url: string, { ended }: Server): Promise<void> {
  const deadline = performance.now() + READY_WITHIN_MS;
  for (;;) {
    const answer = await Promise.race([fetch(`${url}/-/ready`).catch(() => undefined), ended]);
    if (answer?.ok) return;
    if (performance.now() > deadline) throw new Error(`Prometheus at ${url} is not ready`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

type Vector = readonly {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}[];

const isScalar = (result: Vector | [number, string]): result is [number, string] =>
  typeof result[0] === "number";

async function ask<Data>(url: string, path: string): Promise<Data> {
  const response = await fetch(`${url}/api/v1/${path}`);
  const answer = (await response.json()) as { readonly data: Data; readonly error?: string };
  if (answer.error !== undefined) throw new Error(answer.error);
  return answer.data;
}
