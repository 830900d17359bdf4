// Time from the start of the process until /readyz answers, empty and with many deployments.
import { runBenchmark } from "./support/benchmark.ts";
import { sleep } from "./support/children.ts";
import { createSqlite } from "./support/database.ts";
import type { BenchDatabase } from "./support/database.ts";
import { deploy, openSlotsBefore } from "./support/deployments.ts";
import type { Figure } from "./support/figures.ts";
import { startSonde } from "./support/sonde.ts";
import { memoryMb } from "./support/usage.ts";

const DEPLOYMENTS = 100_000;
const STARTS = 5;
const IDLE_AFTER_MS = 8000;

await runBenchmark("start", async ({ options, say, add }) => {
  const database = createSqlite();
  if (!options.smoke) {
    say("empty");
    add(...(await startEmpty(database)));
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
    full.push((await start(database)).ms);
  }
  add({
    what: `start to ready, ${count} deployments`,
    unit: "ms",
    rounds: full,
    goal: { atMost: 10_000 },
  });
});

/** Starts once on `first`, unmeasured, to fill the compile cache; measures on empty databases. */
async function startEmpty(first: BenchDatabase): Promise<Figure[]> {
  await start(first);
  const empty: Started[] = [];
  for (let left = STARTS; left > 0; left -= 1)
    empty.push(await start(createSqlite(), left === 1 ? IDLE_AFTER_MS : 0));
  return [
    {
      what: "start to ready, empty",
      unit: "ms",
      rounds: empty.map(({ ms }) => ms),
      goal: { atMost: 1500 },
    },
    {
      what: "  memory, idle",
      unit: "MB",
      rounds: empty.slice(-1).map(({ memory }) => memory),
      goal: { atMost: 130 },
    },
  ];
}

interface Started {
  readonly ms: number;
  /** In megabytes, after the pause. */
  readonly memory: number;
}

async function start({ env }: BenchDatabase, pauseMs = 0): Promise<Started> {
  await using sonde = await startSonde({ core: "measured", env });
  await sleep(pauseMs);
  return { ms: sonde.startMs, memory: memoryMb(sonde.pid) };
}
