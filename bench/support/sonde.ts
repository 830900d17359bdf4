// Starts the program as its users do, on a chosen core, and reads what it says about itself.
import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Agent, request } from "undici";
import { API_KEY, MASTER_KEY } from "./database.ts";
import { makeFolder, sleep, startChild, stopChild } from "./children.ts";
import type { Core } from "./children.ts";
import { LOCATION } from "./deployments.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

const unpooled = new Agent({ connections: null });

const READY_WITHIN_MS = 120_000;

export interface Sonde extends AsyncDisposable {
  readonly pid: number;
  /** Milliseconds from the start of the process until /readyz answered 200. */
  readonly startMs: number;
  /** Base URL of the API, without a path; undefined if the process lacks that role. */
  readonly apiUrl: string | undefined;
  /** Sums the values of the metric whose labels, as Prometheus prints them, contain `labels`. */
  metric(name: string, labels?: string): Promise<number>;
  stop(): Promise<void>;
}

export interface SondeOptions {
  readonly core: Core;
  /** Default: all. */
  readonly roles?: string;
  readonly env: Readonly<Record<string, string>>;
  /** A file with the certificate authority that the agent trusts. */
  readonly authority?: string;
}

/** Resolves when it is ready. */
export async function startSonde({ core, roles, env, authority }: SondeOptions): Promise<Sonde> {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    readonly scripts: { readonly start: string };
  };
  const args = roles === undefined ? "" : ` --roles ${roles}`;
  const started = performance.now();
  const child = startChild(["sh", "-c", `cd ${ROOT} && ${scripts.start}${args}`], {
    core,
    stdout: "pipe",
    env: {
      PATH: `${join(ROOT, "node_modules/.bin")}:${process.env["PATH"]}`,
      SONDE_PORT: "0",
      SONDE_OPS_PORT: "0",
      SONDE_LOCATION: LOCATION,
      SONDE_EGRESS_ALLOW: "127.0.0.1",
      SONDE_BOOTSTRAP_KEY: API_KEY,
      SONDE_MASTER_KEY: MASTER_KEY.toString("base64"),
      SONDE_DATA_DIR: makeFolder(),
      ...(authority !== undefined && { NODE_EXTRA_CA_CERTS: authority }),
      ...env,
    },
  });
  const addresses = readAddresses(child);
  const opsUrl = await addresses.ops;
  await untilReady(opsUrl, child);
  const startMs = performance.now() - started;
  return {
    pid: child.pid ?? 0,
    startMs,
    apiUrl: roles === undefined || roles.includes("api") ? await addresses.api : undefined,
    async metric(name, labels = "") {
      // Uses a new connection: a busy process may close a kept one just as it is used.
      const { body } = await request(`${opsUrl}/metrics`, { dispatcher: unpooled, reset: true });
      return sumOf(await body.text(), name, labels);
    },
    stop: () => stopChild(child),
    [Symbol.asyncDispose]: () => stopChild(child),
  };
}

function readAddresses(child: ChildProcess) {
  const [ops, api] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  if (child.stdout)
    createInterface({ input: child.stdout }).on("line", (text) => {
      if (!text.includes("listening")) return;
      const line = JSON.parse(text) as Readonly<Record<string, unknown>>;
      if (line["msg"] === "ops server listening")
        ops.resolve(`http://${String(line["host"])}:${String(line["port"])}`);
      if (line["msg"] === "api listening") api.resolve(String(line["address"]));
    });
  child.once("exit", (code) => ops.reject(new Error(`Sonde ended with ${String(code)}`)));
  return { ops: ops.promise, api: api.promise };
}

async function untilReady(opsUrl: string, child: ChildProcess): Promise<void> {
  const deadline = performance.now() + READY_WITHIN_MS;
  while (performance.now() < deadline && child.exitCode === null) {
    const isReady = await fetch(`${opsUrl}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return;
    await sleep(5);
  }
  throw new Error("Sonde did not become ready");
}

function sumOf(page: string, name: string, labels: string): number {
  return page
    .split("\n")
    .filter((line) => /^\w+/.exec(line)?.[0] === name && line.includes(labels))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
}
