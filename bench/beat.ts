// The scheduler's beat with a fifth of all deployments due in one second: the time to open the slot
// and publish every tick, its memory, and the longest pause of the event loop.
import { BEAT_LEAD_MS, MINUTE_MS, slotOf } from "../src/model/slots.ts";
import { runBenchmark } from "./support/benchmark.ts";
import { sleep } from "./support/children.ts";
import { deploy, openSlotsBefore } from "./support/deployments.ts";
import type { Group } from "./support/deployments.ts";
import { prepareGround } from "./support/hub.ts";
import type { Ground } from "./support/hub.ts";
import { watchPauses } from "./support/pauses.ts";
import { lastPublished, takeTicks } from "./support/published.ts";
import { startSonde } from "./support/sonde.ts";
import { peakMemoryMb } from "./support/usage.ts";

const DEPLOYMENTS = 1_000_000;
const SMOKE_DEPLOYMENTS = 20;
const FREQUENCY = 5;
/** Time for the process to start before the slot opens. */
const START_MS = 8000;
const POLL_MS = 200;

await runBenchmark("beat", async ({ options, say, skip, add }) => {
  const count = options.deployments ?? (options.smoke ? SMOKE_DEPLOYMENTS : DEPLOYMENTS);
  await using ground = await prepareGround("split", skip);
  if (!ground) return;
  say(`storing ${count} deployments`);
  const firstDue = options.smoke ? now() : slotOf(now());
  await deploy(ground.database, groupsOf(count, firstDue));
  await ground.database.query("analyze");

  const rounds: Beat[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    say(`round ${round + 1}`);
    rounds.push(
      await measure(ground, count / FREQUENCY, options.smoke ? slotOf(firstDue) : nextSlot()),
    );
  }
  const due = `${(count / FREQUENCY).toLocaleString("en-US")} due of ${count.toLocaleString("en-US")}`;
  const each = (value: (beat: Beat) => number): number[] => rounds.map(value);
  add(
    { what: `${due}: slot open`, unit: "s", rounds: each(({ openS }) => openS) },
    {
      what: "  published",
      unit: "s",
      rounds: each(({ publishedS }) => publishedS),
      goal: { atMost: 10 },
    },
    { what: "  CPU, scheduler", unit: "s", rounds: each(({ cpuS }) => cpuS) },
    {
      what: "  memory, peak",
      unit: "MB",
      rounds: each(({ memory }) => memory),
      goal: { atMost: 600 },
    },
    {
      what: "  longest pause",
      unit: "ms",
      rounds: each(({ pauseMs }) => pauseMs),
      goal: { atMost: 250 },
    },
  );
});

/** The present time, cut to whole seconds. */
function now(): number {
  return Math.floor(Date.now() / 1000) * 1000;
}

/**
 * Makes all deployments of a minute due in the same second, since ticks are published shortly
 * before they are due: the first second, or for the smoke run the current one, while it is not
 * too late.
 */
function groupsOf(count: number, firstDue: number): Group[] {
  return Array.from({ length: FREQUENCY }, (_, n) => ({
    url: "https://host.test/",
    frequency: FREQUENCY,
    count: count / FREQUENCY,
    firstDue: firstDue + n * MINUTE_MS,
    seconds: 1,
  }));
}

interface Beat {
  readonly openS: number;
  readonly publishedS: number;
  readonly cpuS: number;
  readonly memory: number;
  readonly pauseMs: number;
}

/** Measures the first slot of a new scheduler, from the moment it may be opened. */
async function measure(ground: Ground, due: number, slot: number): Promise<Beat> {
  const store = await ground.database.openStore();
  await openSlotsBefore(store, slot);
  await store.close();
  await using scheduler = await startSonde({
    core: "measured",
    roles: "scheduler",
    env: ground.env,
  });
  const opensAt = Math.max(slot - BEAT_LEAD_MS, Date.now());
  await sleep(opensAt - Date.now() - 2 * POLL_MS);
  const natsUrl = ground.env["SONDE_NATS_URL"] ?? "";
  const watch = watchPauses(scheduler);
  while ((await scheduler.metric("sonde_scheduler_runs_total")) < due) await sleep(POLL_MS);
  const openS = (Date.now() - opensAt) / 1000;
  const publishedS = ((await lastPublished(natsUrl)) - opensAt) / 1000;
  const pauseMs = await watch.longest();
  const cpuS = await scheduler.metric("process_cpu_seconds_total");
  const memory = peakMemoryMb(scheduler.pid);
  await scheduler.stop();
  const ticks = await takeTicks(natsUrl);
  if (ticks < due) throw new Error(`${ticks} of ${due} ticks were published`);
  return { openS, publishedS, pauseMs, cpuS, memory };
}

function nextSlot(): number {
  return Math.ceil((Date.now() + START_MS + BEAT_LEAD_MS) / MINUTE_MS) * MINUTE_MS;
}
