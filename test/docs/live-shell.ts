// Starts a live system, and a shell that runs the blocks of the runbooks. Each role has a process
// of its own, on PostgreSQL and NATS, watched by Prometheus.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { inject } from "vitest";
import { createDatabase } from "../support/postgres.ts";
import { COMPILED_CODE, MAIN, makeFolder, runSonde, V8_OPTIONS } from "../support/process.ts";
import { RULE_FILES, startPrometheus } from "../support/prometheus.ts";
import type { Prometheus } from "../support/prometheus.ts";
import { startService } from "../support/service.ts";

export const SERVICES = ["api", "scheduler", "aggregator", "agent"] as const;
export type ServiceName = (typeof SERVICES)[number];

export interface Ended {
  readonly code: number | null;
  readonly output: string;
}

export interface LiveShell extends AsyncDisposable {
  /** Returns the /metrics of all processes together. */
  metrics(): Promise<string>;
  /** Runs shell text, with `$OPS` and `$SERVICE` set for this process. */
  run(text: string, service: ServiceName): Promise<Ended>;
}

const LOCATION = "local";

/** Replaces what the README defines for systemd, Compose and Kubernetes. */
const DEFINITIONS = `
sonde() { env "\${WITH[@]}" "$NODE" $V8_OPTIONS "$MAIN" "$@"; }
logs() { cat "$LOGS/$1.log" | pick "$2"; }
`;

/** `setup`: the README's definitions that are the same everywhere. */
export async function startLiveShell(setup: string): Promise<LiveShell> {
  await using stack = new AsyncDisposableStack();
  const { service, hub, processes, ops } = await startProcesses(stack);
  const prometheus = stack.use(await watch(ops));
  const folder = stack.use(makeFolder());
  const environment = {
    ...hub,
    PATH: process.env["PATH"] ?? "",
    NODE: process.execPath,
    V8_OPTIONS: V8_OPTIONS.join(" "),
    NODE_COMPILE_CACHE: COMPILED_CODE,
    MAIN,
    LOGS: folder.path,
    SONDE_OPS_PORT: new URL(ops.api).port,
    SONDE_API_URL: await processes.api.api(),
    SONDE_API_KEY: await issueKey(hub),
  };
  const shared = {
    PROMETHEUS: prometheus.url,
    LOCATION,
    CALL: service.schedules[0]?.target_id,
    SONDE_DATA_DIR: processes.agent.dataDir,
    DATABASE: hub.SONDE_DATABASE_URL,
  };
  const running = stack.move();
  return {
    async metrics() {
      const texts = SERVICES.map(async (name) => (await fetch(`${ops[name]}/metrics`)).text());
      return (await Promise.all(texts)).join("\n");
    },
    async run(text, name) {
      for (const each of SERVICES)
        writeFileSync(join(folder.path, `${each}.log`), processes[each].stdout());
      const given = { ...shared, OPS: ops[name], SERVICE: name };
      const lines = Object.entries(given).map(([key, value]) => `export ${key}='${value}'`);
      return runBash([setup, ...lines, DEFINITIONS, text].join("\n"), environment, folder.path);
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

async function startProcesses(stack: AsyncDisposableStack) {
  const databaseUrl = await createDatabase(inject("postgresUrl"));
  const settings = { SONDE_MASTER_KEY: "5a".repeat(32), SONDE_DATABASE_URL: databaseUrl };
  const service = stack.use(await startService({ deployments: 3, databaseUrl, settings }));
  const processes = ofEach((name) => service.start(name));
  await Promise.all(SERVICES.map((name) => processes[name].ready()));
  const urls = new Map<ServiceName, string>();
  for (const name of SERVICES) urls.set(name, await processes[name].ops());
  return {
    service,
    processes,
    ops: ofEach((name) => urls.get(name) ?? ""),
    hub: { ...settings, SONDE_NATS_URL: service.natsUrl },
  };
}

const ofEach = <T>(make: (name: ServiceName) => T): Record<ServiceName, T> => ({
  api: make("api"),
  scheduler: make("scheduler"),
  aggregator: make("aggregator"),
  agent: make("agent"),
});

const watch = (ops: Readonly<Record<ServiceName, string>>): Promise<Prometheus> =>
  startPrometheus({
    ruleFiles: RULE_FILES.map((file) => join("deploy/prometheus", file)),
    targets: SERVICES.map((service) => ({
      url: ops[service],
      labels: { service, ...(service === "agent" && { location: LOCATION }) },
    })),
  });

/** Issues a key of the calls' owner. */
async function issueKey(env: Readonly<Record<string, string>>): Promise<string> {
  const { stdout, stderr } = await runSonde(
    ["keys", "create", "--level", "OWNER", "--owner", "ann"],
    { env },
  );
  if (stdout === "") throw new Error(stderr);
  return (JSON.parse(stdout) as { readonly api_key: string }).api_key;
}

const LIMIT_MS = 60_000;

async function runBash(text: string, env: Record<string, string>, cwd: string): Promise<Ended> {
  const shell = spawn("bash", ["--norc", "-euo", "pipefail", "-c", text], {
    env,
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
    timeout: LIMIT_MS,
  });
  const output: string[] = [];
  for (const stream of [shell.stdout, shell.stderr])
    stream.setEncoding("utf8").on("data", (part: string) => output.push(part));
  const [code] = (await once(shell, "close")) as [number | null];
  return { code, output: output.join("") };
}
