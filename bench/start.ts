// Time from the start of the process until /readyz answers, empty and with many deployments, and
// what an idle process takes.
import { runBenchmark } from "./support/benchmark.ts";
import { sleep } from "./support/children.ts";
import { createSqlite } from "./support/database.ts";
import type { BenchDatabase } from "./support/database.ts";
import { deploy, openSlotsBefore } from "./support/deployments.ts";
import type { Figure } from "./support/figures.ts";
import { startSonde } from "./support/sonde.ts";
import { cpuMs, memoryMb } from "./support/usage.ts";

const DEPLOYMENTS = 100_000;
const STARTS = 5;
const IDLE_AFTER_MS = 8000;
const IDLE_MS = 60_000;

await runBenchmark("start", async ({ options, say, add }) => {
  const database = createSqlite();
  if (!options.smoke) {
    say("empty");
    add(await startEmpty(database), ...(await measureIdle()));
  }
  const count = options.deployments ?? (options.smoke ? 20 : DEPLOYMENTS);
  say(`with ${count} deployments`);
  const group = {
    url: "https://host.test/",
    count,
    firstDue: Date.now(),
    seconds: options.smoke ? 2 : 300,
  };
  const firstDue = Math.ceil(group.firstDue / 60_000) * 60_000;
  await deploy(database, [{ ...group, firstDue, frequency: 5 }]);
  const full: number[] = [];
  for (let n = 0; n < (options.smoke ? 1 : STARTS); n += 1) {
    const store = await database.openStore();
    await openSlotsBefore(store, Date.now() + 60_000);
    await store.close();
    full.push(await start(database));
  }
  add({
    what: `start to ready, ${count} deployments`,
    unit: "ms",
    rounds: full,
    goal: { atMost: 10_000 },
  });
});

/** Starts once on `first`, unmeasured, to fill the compile cache; measures on empty databases. */
async function startEmpty(first: BenchDatabase): Promise<Figure> {
  await start(first);
  const rounds: number[] = [];
  while (rounds.length < STARTS) rounds.push(await start(createSqlite()));
  return { what: "start to ready, empty", unit: "ms", rounds, goal: { atMost: 1500 } };
}

async function start({ env }: BenchDatabase): Promise<number> {
  await using sonde = await startSonde({ core: "measured", env });
  return sonde.startMs;
}

async function measureIdle(): Promise<Figure[]> {
  await using sonde = await startSonde({ core: "measured", env: createSqlite().env });
  await sleep(IDLE_AFTER_MS);
  const memory = memoryMb(sonde.pid);
  const before = cpuMs(sonde.pid);
  await sleep(IDLE_MS);
  const cpu = (cpuMs(sonde.pid) - before) / (IDLE_MS / 1000);
  return [
    { what: "  memory, idle", unit: "MB", rounds: [memory], goal: { atMost: 130 } },
    { what: "  CPU a second, idle", unit: "ms", rounds: [cpu] },
  ];
}
