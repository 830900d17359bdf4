// The ledger holds even if processes are killed at random moments under load.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { systemClock } from "../../src/runtime/clock.ts";
import { deployMany, expectLedger, openDisposable, outcomesOf } from "../support/deployments.ts";
import type { Ledger } from "../support/ledger.ts";
import { startNatsServer } from "../support/nats-server.ts";
import { createDatabase } from "../support/postgres.ts";
import { makeFolder, startSonde } from "../support/process.ts";
import type { SondeProcess } from "../support/process.ts";
import { announcedSeed, randomOf } from "../support/seed.ts";
import { startTarget } from "../support/target-server.ts";

const DEPLOYMENTS = 60;
const LOAD_MS = 65_000;
const ANSWER_AFTER_MS = 300;

describe.concurrent("under load, with processes killed and restarted", () => {
  it("each due slot has one outcome, counted once: all roles in one process", async (test) => {
    const random = randomOf(await announcedSeed(test));
    await using target = await startSlowTarget();
    using folder = makeFolder();
    mkdirSync(folder.dataDir);
    const file = join(folder.dataDir, "sonde.db");
    await using store = await openDisposable({ file });
    const schedules = await deployMany(store, target.url, DEPLOYMENTS);
    const options = {
      folder: folder.path,
      env: { SONDE_EGRESS_ALLOW: target.authority },
    };
    const start = (): SondeProcess => startSonde(["serve"], options);

    await using process = replaceable(start);
    const since = systemClock.now();
    for (const at of moments(random, 4)) {
      await systemClock.waitUntil(since + at);
      await process.killAndReplace();
    }
    await systemClock.waitUntil(since + LOAD_MS);
    await outcomesOf(store, schedules, systemClock.now());
    expect(await process.current().stop()).toEqual({ code: 0, signal: null });

    const ledger = await expectLedger(store, schedules);
    expect(unexplained(ledger, since, [process])).toEqual([]);
  });

  it("each due slot has one outcome, counted once: scheduler, agent and aggregator apart", async (test) => {
    const random = randomOf(await announcedSeed(test));
    await using target = await startSlowTarget();
    await using nats = await startNatsServer();
    const url = await createDatabase(inject("postgresUrl"));
    await using store = await openDisposable({ url });
    const schedules = await deployMany(store, target.url, DEPLOYMENTS);
    const env = {
      SONDE_DATABASE_URL: url,
      SONDE_MASTER_KEY: "5a".repeat(32),
      SONDE_NATS_URL: nats.url,
      SONDE_EGRESS_ALLOW: target.authority,
    };
    await using stack = new AsyncDisposableStack();
    const processes = ["scheduler", "agent", "aggregator"].map((role) =>
      stack.use(replaceable(() => startSonde(["serve", "--roles", role], { env }))),
    );
    const [scheduler, agent] = processes as [Replaceable, Replaceable, Replaceable];
    const since = systemClock.now();
    for (const [n, at] of moments(random, 6).entries()) {
      await systemClock.waitUntil(since + at);
      const victim = n < processes.length ? n : Math.floor(random() * processes.length);
      await processes[victim]?.killAndReplace();
    }
    await systemClock.waitUntil(since + LOAD_MS);
    await outcomesOf(store, schedules, systemClock.now());
    for (const process of processes)
      expect(await process.current().stop()).toEqual({
        code: 0,
        signal: null,
      });

    const ledger = await expectLedger(store, schedules);
    expect(unexplained(ledger, since, [scheduler, agent])).toEqual([]);
  });
});

const startSlowTarget = () =>
  startTarget((_, response) => {
    setTimeout(() => response.end("ok"), ANSWER_AFTER_MS);
  });

/** A run at a frequency of a minute may start this late. */
const START_WITHIN_MS = 30_000;
/** What a process that is ready needs to order or start a run, on a busy machine. */
const STARTED_WITHIN_MS = 10_000;

/**
 * Returns the results due later than `ms` that are not COMPLETE, except those that are MISSED since
 * one of the needed processes was not ready for long enough while the run could start.
 */
const unexplained = (ledger: Ledger, ms: number, needed: readonly Replaceable[]) =>
  ledger.results.filter(({ meta }) => {
    const due = Date.parse(meta.due_time);
    if (due <= ms || meta.result === "COMPLETE") return false;
    const isForDowntime =
      meta.result === "MISSED" && /^(?:scheduler_down|started_late):/.test(meta.message ?? "");
    const end = due + START_WITHIN_MS;
    const isReady = (process: Replaceable) => process.wasReady(due, end, STARTED_WITHIN_MS);
    return !isForDowntime || needed.every(isReady);
  });

interface Replaceable extends AsyncDisposable {
  current(): SondeProcess;
  killAndReplace(): Promise<void>;
  /** Whether one process was ready for `ms` without a break between these instants. */
  wasReady(from: number, to: number, ms: number): boolean;
}

interface Life {
  readonly process: SondeProcess;
  /** When it was known to be ready, and when it was killed. */
  since: number;
  until: number;
}

function replaceable(start: () => SondeProcess): Replaceable {
  const begin = (): Life => {
    const life: Life = { process: start(), since: Infinity, until: Infinity };
    const noted = (): unknown => (life.since = systemClock.now());
    life.process.ready().then(noted, () => undefined); // killed before
    return life;
  };
  const lives = [begin()];
  const last = (): Life => lives.at(-1) as Life;
  return {
    current: () => last().process,
    async killAndReplace() {
      last().until = systemClock.now();
      const killed = await last().process.kill9();
      expect(killed.signal, last().process.stderr()).toBe("SIGKILL");
      lives.push(begin());
    },
    wasReady: (from, to, ms) =>
      lives.some(({ since, until }) => Math.min(until, to) - Math.max(since, from) >= ms),
    async [Symbol.asyncDispose]() {
      for (const { process } of lives) await process[Symbol.asyncDispose]();
    },
  };
}

/** Returns ascending milliseconds from the start of the load; the last leaves time to recover. */
const moments = (random: () => number, count: number): number[] =>
  Array.from({ length: count }, () => 2000 + random() * (LOAD_MS - 12_000)).toSorted(
    (a, b) => a - b,
  );
