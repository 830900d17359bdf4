// Starts the services of deploy/compose.yaml without containers, with the same programs, users,
// commands, settings, volumes and order.
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startPostgres } from "../support/postgres.ts";
import { findPostgres } from "../support/programs.ts";
import type { Service } from "./compose-file.ts";
import { createGround, image } from "./compose-ground.ts";
import type { Ground } from "./compose-ground.ts";
import { execForm, lastOf } from "./dockerfile.ts";
import { runInSandbox } from "./sandbox.ts";
import type { Sandbox, Sandboxed } from "./sandbox.ts";

const HEALTHY_WITHIN_MS = 120_000;
/** Each health check starts a process. */
const ASK_EVERY_MS = 2000;
const LOOPBACK = "127.0.0.1";

export interface Composed extends AsyncDisposable {
  readonly ground: Ground;
  /** Resolves when all services of these programs have started and are healthy, or have ended. */
  started(): Promise<void>;
  /** Sends SIGTERM to all, and resolves with the exit codes of each service's processes. */
  stop(): Promise<Readonly<Record<string, readonly (number | null)[]>>>;
}

interface Run {
  readonly ground: Ground;
  readonly processes: { readonly service: string; readonly process: Sandboxed }[];
  readonly servers: AsyncDisposable[];
  readonly output: string[];
}

type Start = (run: Run, service: Service) => Promise<void>;

/** By image; these tests do not start any other images. */
const STARTS: Readonly<Record<string, Start>> = {
  sonde: startSonde,
  nats: startNats,
  postgres: startDatabase,
};

/** `settings` go to every process of Sonde, in addition to those of its service. */
export function composeWithoutContainers(
  services: readonly Service[],
  settings: Readonly<Record<string, string>>,
): Composed {
  const ground = createGround(services, settings);
  const run: Run = { ground, processes: [], servers: [], output: [] };
  const stop = () => stopAll(run);
  return {
    ground,
    started: () => startInOrder(run, services),
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
      for (const server of run.servers) await server[Symbol.asyncDispose]();
      ground[Symbol.dispose]();
    },
  };
}

async function startInOrder(run: Run, services: readonly Service[]): Promise<void> {
  const starting = new Map<string, Promise<void>>();
  const startOnce = (name: string): Promise<void> => {
    const known = starting.get(name);
    if (known) return known;
    const service = services.find((one) => one.name === name) as Service;
    const begun = Promise.all(Object.keys(service.dependsOn).map(startOnce)).then(() =>
      STARTS[service.image]?.(run, service),
    );
    starting.set(name, begun);
    return begun;
  };
  await Promise.all(services.map(({ name }) => startOnce(name)));
}

async function startSonde(run: Run, service: Service): Promise<void> {
  const words = [
    ...(service.entrypoint ?? execForm(lastOf(image, "ENTRYPOINT"))),
    ...(service.command ?? execForm(lastOf(image, "CMD"))),
  ];
  const isOneShot = service.entrypoint !== undefined;
  for (let replica = 0; replica < service.replicas; replica += 1) {
    const sandbox = run.ground.sandboxOf(service, replica);
    const process = launch(run, service, sandbox, words);
    if (isOneShot) {
      const [code] = await once(process.child, "close");
      if (code !== 0) throw failed(run, `${service.name} ended with ${String(code)}`);
    } else {
      const health = execForm(lastOf(image, "HEALTHCHECK"));
      await untilHealthy(run, service, process, () => succeeds(sandbox, health));
    }
  }
}

async function startNats(run: Run, service: Service): Promise<void> {
  const address = run.ground.addressOf(service.name);
  const listen = ["--addr", address, "--cluster_listen", `nats://${address}:6222`];
  const words = ["/nats-server", ...(service.command ?? []), ...listen];
  const process = launch(run, service, run.ground.sandboxOf(service), words);
  const url = (service.health?.at(-1) ?? "").replace(LOOPBACK, address);
  await untilHealthy(run, service, process, async () => (await fetch(url)).ok);
}

async function startDatabase(run: Run, service: Service): Promise<void> {
  const host = run.ground.addressOf(service.name);
  const { POSTGRES_USER: user = "", POSTGRES_DB: database = "" } = service.environment;
  const password = readFileSync(join(run.ground.volume("postgres-secrets"), "password"), "utf8");
  const server = await startPostgres({
    address: { host, port: 5432 },
    configure(data) {
      copyFileSync("deploy/postgres/sonde.conf", join(data, "sonde.conf"));
      writeFileSync(join(data, "postgresql.conf"), "include 'sonde.conf'\n");
      // The image's rules; `startPostgres` itself connects as postgres.
      const rules = ["host all postgres all trust", "host all all all scram-sha-256", ""];
      writeFileSync(join(data, "pg_hba.conf"), rules.join("\n"));
    },
    sql: [
      `create role ${user} superuser login password '${password}'`,
      `create database ${database} owner ${user}`,
    ],
  });
  run.servers.push(server);
  const [program = "", ...args] = service.health ?? [];
  const words = args.map((word) => word.replace(LOOPBACK, host));
  const { status, error } = spawnSync(join(findPostgres() ?? "", program), words);
  if (status !== 0) throw failed(run, `${service.name} is not healthy: ${String(error ?? status)}`);
}

function launch(
  run: Run,
  { name }: Service,
  sandbox: Sandbox,
  words: readonly string[],
): Sandboxed {
  const process = runInSandbox(sandbox, words);
  run.processes.push({ service: name, process });
  for (const stream of [process.child.stdout, process.child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => run.output.push(`${name}: ${text}`));
  return process;
}

async function succeeds(sandbox: Sandbox, words: readonly string[]): Promise<boolean> {
  const { child } = runInSandbox(sandbox, words);
  child.stdout.resume();
  child.stderr.resume();
  const [code] = await once(child, "exit");
  return code === 0;
}

async function untilHealthy(
  run: Run,
  { name }: Service,
  { child }: Sandboxed,
  check: () => Promise<boolean>,
): Promise<void> {
  const deadline = performance.now() + HEALTHY_WITHIN_MS;
  while (!(await check().catch(() => false))) {
    if (child.exitCode !== null) throw failed(run, `${name} ended with ${child.exitCode}`);
    if (performance.now() > deadline) throw failed(run, `${name} did not become healthy`);
    await new Promise((wake) => setTimeout(wake, ASK_EVERY_MS));
  }
}

const failed = ({ output }: Run, what: string): Error => new Error(`${what}\n${output.join("")}`);

async function stopAll(run: Run): Promise<Record<string, (number | null)[]>> {
  const codes: Record<string, (number | null)[]> = {};
  const alive = run.processes.filter(
    ({ process: { child } }) => child.exitCode === null && child.signalCode === null,
  );
  const stopOne = async ({ service, process: { child, pid } }: (typeof alive)[number]) => {
    const exited = once(child, "exit") as Promise<[number | null]>;
    const running = pid();
    if (running !== undefined) process.kill(running, "SIGTERM");
    const [code] = await exited;
    (codes[service] ??= []).push(code);
  };
  await Promise.all(alive.map(stopOne));
  return codes;
}
