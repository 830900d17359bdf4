// The cost of the whole service while one-minute deployments run: CPU per result, and the memory of
// each process.
import { MINUTE_MS } from "../src/model/slots.ts";
import { runBenchmark } from "./support/benchmark.ts";
import type { Benchmark } from "./support/benchmark.ts";
import { sleep } from "./support/children.ts";
import { deploy } from "./support/deployments.ts";
import type { Group } from "./support/deployments.ts";
import type { Figure, Goal } from "./support/figures.ts";
import { prepareGround, startHub } from "./support/hub.ts";
import type { Ground, Hub } from "./support/hub.ts";
import { startCaller } from "./support/caller.ts";
import type { Measured } from "./support/caller.ts";
import type { Mode } from "./support/options.ts";
import { NO_NGINX, startDelayServer, startNginx, writeCertificates } from "./support/target.ts";
import { cpuMs, memoryMb } from "./support/usage.ts";

const EMBEDDED_DEPLOYMENTS = 10_000;
const WARM_UP_SECONDS = 15;
const ROUND_SECONDS = 20;
/** By then, the process has returned the memory that its start needed. */
const IDLE_AFTER_MS = 8000;
const PROGRAM = ["agent", "scheduler", "aggregator"];
const MEMORY_GOALS = { embedded: 350, split: 220 };

await runBenchmark("service", async (benchmark) => {
  const { options, skip } = benchmark;
  const files = writeCertificates();
  const nginx = await startNginx(files);
  if (!nginx) skip(`${NO_NGINX} (a server of Node stands in)`);
  await using target = nginx ?? (await startDelayServer(files, 0));
  const { authority } = files;
  const calls: Calls = { url: target.url("http", "service"), authority };
  const embedded = options.deployments ?? EMBEDDED_DEPLOYMENTS;
  for (const mode of options.modes.slice(0, options.smoke ? 1 : undefined)) {
    const counts = mode === "embedded" ? [embedded] : options.rates.map((rate) => rate * 60);
    for (const count of options.smoke ? [20] : counts) await measure(benchmark, mode, calls, count);
  }
});

interface Calls {
  readonly url: string;
  /** A file with the authority that signed the target's certificate. */
  readonly authority: string;
}

async function measure(
  benchmark: Benchmark,
  mode: Mode,
  calls: Calls,
  count: number,
): Promise<void> {
  const { options, say } = benchmark;
  await using ground = await prepareGround(mode, benchmark.skip);
  if (!ground) return;
  const label = `${mode}, ${count} deployments a minute`;
  if (mode === "embedded" && !options.smoke) {
    say(`${mode}, idle`);
    benchmark.add(await measureIdle(ground));
  }
  const bare = options.smoke ? undefined : await measureBare(calls, count);
  say(label);
  const group = options.smoke ? smokeGroup(calls.url, count) : minuteGroup(calls.url, count);
  await deploy(ground.database, [group]);
  await using hub = await startHub(mode, ground);
  const warmUp = options.smoke ? 0 : WARM_UP_SECONDS;
  await sleep(group.firstDue + warmUp * 1000 - Date.now());
  const rounds: Round[] = [];
  for (let round = 0; round < options.rounds; round += 1)
    rounds.push(await measureRound(hub, ground, options.smoke ? 3 : ROUND_SECONDS));
  benchmark.add(...cpuFigures(mode, label, rounds, bare), ...memoryFigures(mode, rounds));
}

/**
 * CPU milliseconds per call of bare undici at the same rate: the fewer calls a second, the larger
 * the share spent waking up with cold caches.
 */
async function measureBare({ url, authority }: Calls, callsAMinute: number): Promise<number> {
  await using caller = startCaller("bare", url, authority);
  const measureFor = (seconds: number): Promise<Measured> =>
    caller.measureEvenly(Math.ceil((callsAMinute * seconds) / 60), seconds);
  await measureFor(ROUND_SECONDS / 2);
  return (await measureFor(ROUND_SECONDS)).cpu;
}

/** Spreads the deployments over each minute, from the next one on. */
function minuteGroup(url: string, count: number): Group {
  const firstDue = Math.ceil(Date.now() / MINUTE_MS) * MINUTE_MS;
  return { url, count, frequency: 1, firstDue, seconds: 60 };
}

/** Runs each deployment once, a few seconds from now. */
function smokeGroup(url: string, count: number): Group {
  const firstDue = (Math.ceil(Date.now() / 1000) + 4) * 1000;
  return { url, count, frequency: 30, firstDue, seconds: 1 };
}

async function measureIdle(ground: Ground): Promise<Figure> {
  await using hub = await startHub("embedded", ground);
  await sleep(IDLE_AFTER_MS);
  const rounds = [memoryMb(hub.processes.get("embedded")?.pid ?? 0)];
  return { what: "embedded, idle: memory", unit: "MB", rounds, goal: { atMost: 130 } };
}

interface Round {
  readonly results: number;
  readonly seconds: number;
  /** By process. */
  readonly cpu: ReadonlyMap<string, number>;
  readonly memory: ReadonlyMap<string, number>;
}

async function measureRound(hub: Hub, ground: Ground, seconds: number): Promise<Round> {
  const processes = new Map([
    ...[...hub.processes].map(([name, { pid }]) => [name, pid] as const),
    ...ground.servers,
  ]);
  const read = (of: (pid: number) => number): Map<string, number> =>
    new Map([...processes].map(([name, pid]) => [name, of(pid)]));
  const [resultsBefore, cpuBefore, started] = [await hub.recorded(), read(cpuMs), Date.now()];
  const memory = new Map<string, number>();
  while (Date.now() < started + seconds * 1000) {
    await sleep(1000);
    for (const [name, mb] of read(memoryMb)) memory.set(name, Math.max(mb, memory.get(name) ?? 0));
  }
  const cpu = read(cpuMs);
  return {
    results: (await hub.recorded()) - resultsBefore,
    seconds: (Date.now() - started) / 1000,
    cpu: new Map([...cpu].map(([name, ms]) => [name, ms - (cpuBefore.get(name) ?? 0)])),
    memory,
  };
}

function cpuFigures(mode: Mode, label: string, rounds: readonly Round[], bare?: number): Figure[] {
  const perResult = (names: readonly string[]): number[] =>
    rounds.map(
      ({ cpu, results }) => names.reduce((sum, name) => sum + (cpu.get(name) ?? 0), 0) / results,
    );
  const figure = (what: string, names: readonly string[], goal?: Goal): Figure => ({
    what,
    unit: "ms",
    rounds: perResult(names),
    ...(goal && { goal }),
  });
  const rate: Figure = {
    what: `${label}: results`,
    unit: "a second",
    rounds: rounds.map(({ results, seconds }) => results / seconds),
  };
  const ofProgram = (what: string, names: readonly string[]): Figure => ({
    ...figure(what, names, { atMost: 0.8 }),
    ...(bare !== undefined && { beside: { what: "bare undici, as often", rounds: [bare] } }),
  });
  if (mode === "embedded") return [rate, ofProgram("  CPU a result", ["embedded"])];
  return [
    rate,
    ofProgram("  CPU a result: agent, scheduler, aggregator", PROGRAM),
    ...[...PROGRAM, "api"].map((name) => figure(`    ${name}`, [name])),
    figure("  CPU a result: PostgreSQL", ["PostgreSQL"], { atMost: 0.4 }),
    figure("  CPU a result: nats-server", ["nats-server"], { atMost: 0.06 }),
  ];
}

/** The servers' memory has no goal: it is not Sonde's. */
function memoryFigures(mode: Mode, rounds: readonly Round[]): Figure[] {
  return [...(rounds[0]?.memory.keys() ?? [])].map((name) => ({
    what: `  memory: ${name}`,
    unit: "MB",
    rounds: rounds.map(({ memory }) => memory.get(name) ?? NaN),
    ...(/^[a-z]+$/.test(name) && { goal: { atMost: MEMORY_GOALS[mode] } }),
  }));
}
