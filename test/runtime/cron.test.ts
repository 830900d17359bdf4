// Recurring work, on timers that the test moves by hand.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { unavailable } from "../../src/model/errors.ts";
import { createCron } from "../../src/runtime/cron.ts";
import type { CronOptions } from "../../src/runtime/cron.ts";
import { track } from "../support/no-leftovers.ts";
import { captureLog } from "./log-lines.ts";

const START = Date.parse("2026-10-01T12:00:00.500Z");
const MINUTE_MS = 60_000;

beforeEach(() => {
  // Faking setImmediate too would stop `thread-usage.ts` for all files that share this process.
  vi.useFakeTimers({ now: START, toFake: ["Date", "setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

async function startCron(work: CronOptions["work"], expression = "*/10 * * * * *") {
  const captured = captureLog();
  const cron = createCron({
    name: "beat",
    expression,
    log: captured.log,
    work,
  });
  await cron.start();
  const stopped = track("cron beat");
  const stop = async (): Promise<void> => {
    await cron.stop();
    stopped();
  };
  const errors = (): Record<string, unknown>[] =>
    captured.lines().filter((line) => line["level"] === "error");
  return {
    lines: captured.lines,
    errors,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

const clockTime = (): string => new Date().toISOString().slice(11, 19);

/** Returns work that notes when it began, and ends when the test says so. */
function heldWork() {
  const began: string[] = [];
  const signals: AbortSignal[] = [];
  let gate = Promise.withResolvers<void>();
  return {
    began,
    signals,
    release: () => {
      gate.resolve();
      gate = Promise.withResolvers();
    },
    work: (signal: AbortSignal): Promise<void> => {
      began.push(clockTime());
      signals.push(signal);
      return gate.promise;
    },
  };
}

describe("recurring work", () => {
  it.each([
    ["every ten seconds", "*/10 * * * * *", 30_000, ["12:00:10", "12:00:20", "12:00:30"]],
    ["at a second of every minute", "48 * * * * *", 2 * MINUTE_MS, ["12:00:48", "12:01:48"]],
    [
      "every minute, without a field of seconds",
      "* * * * *",
      2 * MINUTE_MS,
      ["12:01:00", "12:02:00"],
    ],
    ["at an hour of UTC", "5 14 * * *", 24 * 60 * MINUTE_MS, ["14:05:00"]],
    ["ten minutes after Monday's midnight", "10 0 * * 1", 7 * 24 * 60 * MINUTE_MS, ["00:10:00"]],
  ])("runs %s", async (_, expression, ms, expected) => {
    const times: string[] = [];
    await using cron = await startCron(async () => void times.push(clockTime()), expression);
    await vi.advanceTimersByTimeAsync(ms);
    expect(times).toEqual(expected);
    expect(cron.errors()).toEqual([]);
  });

  it("never overlaps, and skips silently", async () => {
    const { began, release, work } = heldWork();
    await using cron = await startCron(work);
    await vi.advanceTimersByTimeAsync(25_000);
    expect(began).toEqual(["12:00:10"]);
    release();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(began).toEqual(["12:00:10", "12:00:30"]);
    release();
    expect(cron.lines()).toEqual([]);
  });

  it("runs again after a failure, which it logs once", async () => {
    let runs = 0;
    await using cron = await startCron(async () => {
      runs += 1;
      if (runs === 1) throw new Error("database away");
    });
    await vi.advanceTimersByTimeAsync(20_000);
    expect(runs).toBe(2);
    expect(cron.errors()).toEqual([
      expect.objectContaining({
        cron: "beat",
        msg: "recurring work failed",
        err: expect.objectContaining({ message: "database away" }) as unknown,
      }),
    ]);
  });

  it("logs the beginning and the end of a database outage", async () => {
    let runs = 0;
    await using cron = await startCron(async () => {
      runs += 1;
      if (runs < 4) throw unavailable("no connection");
    });
    await vi.advanceTimersByTimeAsync(50_000);
    expect(runs).toBe(5);
    expect(cron.lines().map(({ level, msg }) => [level, msg])).toEqual([
      ["error", "database unavailable; retrying"],
      ["info", "database available again"],
    ]);
  });

  it("runs at once after the clock was set back", async () => {
    const times: string[] = [];
    await using cron = await startCron(async () => void times.push(clockTime()));
    await vi.advanceTimersByTimeAsync(10_000);
    vi.setSystemTime(START - 3_600_000);
    await vi.advanceTimersByTimeAsync(40_000);
    expect(times[0]).toBe("12:00:10");
    expect(times.slice(1)).toContain("11:00:30");
    expect(cron.errors()).toEqual([]);
  });

  it("runs once for the times missed during a delay", async () => {
    const times: string[] = [];
    await using cron = await startCron(async () => void times.push(clockTime()), "* * * * *");
    vi.setSystemTime(START + 10.5 * MINUTE_MS);
    await vi.advanceTimersByTimeAsync(2 * MINUTE_MS);
    expect(times).toEqual(["12:10:40", "12:11:00", "12:12:00"]);
    expect(cron.errors()).toEqual([]);
  });

  it("skips hours of missed runs at little cost", async () => {
    const times: string[] = [];
    await using cron = await startCron(async () => void times.push(clockTime()), "* * * * * *");
    vi.setSystemTime(START + 120 * MINUTE_MS);
    const before = process.cpuUsage();
    await vi.advanceTimersByTimeAsync(1000);
    const { user, system } = process.cpuUsage(before);
    expect(times).toEqual(["14:00:01"]);
    expect((user + system) / 1000).toBeLessThan(500);
    expect(cron.errors()).toEqual([]);
  });
});

describe("stopping", () => {
  it("aborts the signal of the running work and waits for it", async () => {
    const { began, release, signals, work } = heldWork();
    const cron = await startCron(work);
    await vi.advanceTimersByTimeAsync(10_000);
    let hasStopped = false;
    const stopping = cron.stop().then(() => (hasStopped = true));
    await vi.advanceTimersByTimeAsync(30_000);
    expect(hasStopped).toBe(false);
    expect(signals.map((signal) => signal.aborted)).toEqual([true]);
    release();
    await stopping;
    expect(began).toEqual(["12:00:10"]);
  });

  it("logs no error for work that it aborts", async () => {
    const cron = await startCron(
      (signal) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason as Error));
        }),
    );
    await vi.advanceTimersByTimeAsync(10_000);
    await cron.stop();
    expect(cron.errors()).toEqual([]);
  });

  it("leaves no timer behind", async () => {
    const cron = await startCron(() => Promise.resolve());
    await cron.stop();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("a cron expression", () => {
  it.each(["", "* * *", "61 * * * * *", "every minute"])(
    "'%s' is refused by name",
    (expression) => {
      const { log } = captureLog();
      expect(() =>
        createCron({
          name: "beat",
          expression,
          log,
          work: () => Promise.resolve(),
        }),
      ).toThrow(`beat: '${expression}' is not a cron expression`);
    },
  );
});
