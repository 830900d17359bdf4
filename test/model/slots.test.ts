// When schedules are due: instants in, instants out.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  BEAT_LEAD_MS,
  CHANGE_LEAD_MS,
  FREQUENCIES,
  MINUTE_MS,
  dueKeys,
  dueRun,
  newestOpenSlot,
  nextDueTimes,
  nextTrigger,
  slotKeyOf,
  slotOf,
  slotsUpTo,
  startWindowMs,
} from "../../src/model/slots.ts";
import type { Cadence } from "../../src/model/slots.ts";

const DAY_MINUTES = 1440;
const MIDNIGHT = Date.parse("2026-10-01T00:00:00Z");
const at = (time: string): number => Date.parse(`2026-10-01T${time}Z`);
const clock = (ms: number): string => new Date(ms).toISOString().slice(11, 19);

const isDue = (cadence: Cadence, slot: number): boolean =>
  dueKeys(slot).includes(slotKeyOf(cadence));

const slotsOfDay = (midnight = MIDNIGHT): number[] =>
  Array.from({ length: DAY_MINUTES }, (_, n) => midnight + n * MINUTE_MS);

const anyCadence = fc.record({
  frequency: fc.constantFrom(...FREQUENCIES),
  run_delay: fc.integer({ min: 0, max: 86_400 }),
});
const anyMidnight = fc.integer({ min: 0, max: 40_000 }).map((day) => day * DAY_MINUTES * MINUTE_MS);

describe("the frequencies", () => {
  it("are the nineteen of the interface, each of them a divisor of a day", () => {
    expect(FREQUENCIES).toHaveLength(19);
    expect(FREQUENCIES.filter((minutes) => DAY_MINUTES % minutes)).toEqual([]);
  });

  it.each(FREQUENCIES)("of %i minutes fall on their multiples from midnight on", (frequency) => {
    const due = slotsOfDay().filter((slot) => isDue({ frequency, run_delay: 0 }, slot));
    expect(due).toEqual(
      Array.from(
        { length: DAY_MINUTES / frequency },
        (_, n) => MIDNIGHT + n * frequency * MINUTE_MS,
      ),
    );
  });
});

describe("the first due slots of a day", () => {
  it.each([
    ["every minute, at once", 1, 0, ["00:00:00", "00:01:00", "00:02:00"]],
    ["every minute, half a minute later", 1, 30, ["00:00:00", "00:01:00"]],
    ["a delay below a minute stays in its slot", 5, 59, ["00:00:00"]],
    ["a delay of a minute is the next slot", 5, 60, ["00:01:00", "00:06:00"]],
    ["a delay over a minute", 15, 150, ["00:02:00", "00:17:00", "00:32:00"]],
    ["a delay over an hour", 720, 3_700, ["01:01:00", "13:01:00"]],
    ["a delay as long as the period", 10, 600, ["00:00:00", "00:10:00"]],
    ["a delay over the period", 10, 780, ["00:03:00", "00:13:00"]],
    ["a delay of a day", 1440, 86_400, ["00:00:00"]],
    ["a day's last minute", 1440, 86_399, ["23:59:00"]],
    ["three hours with an hour's delay", 180, 3_600, ["01:00:00", "04:00:00"]],
  ])("%s", (_, frequency, run_delay, expected) => {
    const due = slotsOfDay().filter((slot) => isDue({ frequency, run_delay }, slot));
    expect(due.slice(0, expected.length).map(clock)).toEqual(expected);
  });

  it("are the slots of the day's triggers, each later by the delay", () => {
    fc.assert(
      fc.property(anyCadence, anyMidnight, (cadence, midnight) => {
        const period = cadence.frequency * MINUTE_MS;
        const delay = cadence.run_delay * 1000;
        const end = midnight + DAY_MINUTES * MINUTE_MS;
        const first = Math.floor((midnight - delay) / period) * period;
        const expected = [];
        for (let trigger = first; trigger < end; trigger += period) {
          const slot = slotOf(trigger + delay);
          if (slot >= midnight && slot < end) expected.push(slot);
        }
        const due = slotsOfDay(midnight).filter((slot) => isDue(cadence, slot));
        expect(due).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });
});

describe("the run that is due in a slot", () => {
  it.each([
    ["without a delay", 60, 0, "12:00:00", "12:00:00", "12:00:00", "12:01:00"],
    ["some seconds", 60, 45, "12:00:00", "12:00:00", "12:00:45", "12:01:45"],
    ["over a minute", 60, 95, "12:01:00", "12:00:00", "12:01:35", "12:02:35"],
    ["over an hour", 180, 3_605, "13:00:00", "12:00:00", "13:00:05", "13:01:05"],
    ["over the period", 1, 150, "12:02:00", "12:00:00", "12:02:30", "12:03:00"],
  ])(
    "with a delay of %s follows its trigger",
    (_, frequency, run_delay, slot, trigger_time, due_time, latest_start) => {
      const cadence = { frequency, run_delay };
      expect(isDue(cadence, at(slot))).toBe(true);
      expect(dueRun(cadence, at(slot))).toEqual({
        trigger_time: at(trigger_time),
        due_time: at(due_time),
        latest_start: at(latest_start),
      });
    },
  );

  it("may have been triggered the day before", () => {
    const run = dueRun({ frequency: 1440, run_delay: 86_399 }, at("23:59:00"));
    expect(run.trigger_time).toBe(MIDNIGHT);
    expect(run.due_time).toBe(at("23:59:59"));
    const early = dueRun({ frequency: 1440, run_delay: 86_400 }, MIDNIGHT);
    expect(early.trigger_time).toBe(MIDNIGHT - 86_400_000);
    expect(early.due_time).toBe(MIDNIGHT);
  });

  it("is due within its slot, on a multiple of the frequency plus the delay", () => {
    fc.assert(
      fc.property(anyCadence, anyMidnight, (cadence, midnight) => {
        for (const slot of slotsOfDay(midnight)) {
          if (!isDue(cadence, slot)) continue;
          const run = dueRun(cadence, slot);
          expect(slotOf(run.due_time)).toBe(slot);
          expect(run.trigger_time % (cadence.frequency * MINUTE_MS) === 0).toBe(true);
          expect(run.due_time - run.trigger_time).toBe(cadence.run_delay * 1000);
          expect(run.latest_start).toBeGreaterThan(run.due_time);
        }
      }),
      { numRuns: 20 },
    );
  });
});

describe("a slot", () => {
  it.each([
    ["is the minute of an instant", "12:34:56.789", "12:34:00"],
    ["contains its own beginning", "12:34:00.000", "12:34:00"],
    ["ends before the next begins", "12:34:59.999", "12:34:00"],
    ["begins the day at midnight", "00:00:00.000", "00:00:00"],
  ])("%s", (_, instant, slot) => {
    expect(slotOf(at(instant))).toBe(at(slot));
  });

  it("opens its lead time ahead, and not sooner", () => {
    const slot = at("12:34:00");
    expect(newestOpenSlot(slot - BEAT_LEAD_MS)).toBe(slot);
    expect(newestOpenSlot(slot - BEAT_LEAD_MS - 1)).toBe(slot - MINUTE_MS);
  });

  it("opens after the last change that applies to it", () => {
    expect(CHANGE_LEAD_MS).toBeGreaterThan(BEAT_LEAD_MS);
  });
});

describe("the next trigger", () => {
  it.each([
    ["is the next minute", 1, "12:34:56", "12:35:00"],
    ["is strictly later than a trigger", 5, "12:35:00", "12:40:00"],
    ["is a multiple of the frequency", 240, "12:00:01", "16:00:00"],
    ["is a millisecond away", 30, "12:29:59.999", "12:30:00"],
  ])("%s", (_, frequency, instant, expected) => {
    expect(clock(nextTrigger(frequency, at(instant)))).toBe(expected);
  });

  it("is midnight of the next day for a daily schedule", () => {
    expect(nextTrigger(1440, MIDNIGHT)).toBe(MIDNIGHT + 86_400_000);
  });
});

describe("the time a run may start late", () => {
  it.each([
    [1, 30],
    [2, 60],
    [3, 60],
    [1440, 60],
  ])("at a frequency of %i min is %i s", (frequency, seconds) => {
    expect(startWindowMs(frequency)).toBe(seconds * 1000);
  });
});

describe("the slots of a schedule up to the newest open one", () => {
  const slots = (
    frequency: number,
    run_delay: number,
    from: string,
    until: string,
    newest: string,
  ) =>
    slotsUpTo(
      { frequency, run_delay, active_from: at(from), active_until: at(until) },
      at(newest),
    ).map(clock);

  it.each([
    ["its triggers from its start on", 1, 0, "12:00:00", "13:00:00", ["12:00:00", "12:01:00"]],
    ["not the trigger before its start", 1, 0, "12:00:00.001", "13:00:00", ["12:01:00"]],
    ["not the trigger at its end", 1, 0, "12:00:00", "12:01:00", ["12:00:00"]],
    ["the slot that its delay leads to", 60, 90, "11:00:00", "13:00:00", ["11:01:00", "12:01:00"]],
    ["none beyond the newest", 1, 120, "12:00:00", "13:00:00", []],
  ])("are %s", (_, frequency, delay, from, until, expected) => {
    expect(slots(frequency, delay, from, until, "12:01:00")).toEqual(expected);
  });

  it("are those in which it is due", () => {
    fc.assert(
      fc.property(anyCadence, anyMidnight, (cadence, midnight) => {
        const all = slotsUpTo(
          {
            ...cadence,
            active_from: midnight - 2 * DAY_MINUTES * MINUTE_MS,
            active_until: Infinity,
          },
          slotsOfDay(midnight).at(-1) ?? 0,
        );
        const ofDay = all.filter((slot) => slot >= midnight);
        expect(ofDay).toEqual(slotsOfDay(midnight).filter((slot) => isDue(cadence, slot)));
      }),
      { numRuns: 20 },
    );
  });
});

describe("the next runs", () => {
  const next = (frequency: number, run_delay: number, from: string, now: string) =>
    nextDueTimes({ frequency, run_delay, active_from: at(from) }, at(now), 2).map(clock);

  it.each([
    ["follow now", 1, 0, "00:00:00", "12:00:00", ["12:01:00", "12:02:00"]],
    ["come after their delay", 5, 20, "00:00:00", "12:00:30", ["12:05:20", "12:10:20"]],
    [
      "may be of a trigger that has passed",
      5,
      20,
      "00:00:00",
      "12:00:10",
      ["12:00:20", "12:05:20"],
    ],
    [
      "are of triggers from its start on",
      5,
      20,
      "12:00:00.001",
      "12:00:10",
      ["12:05:20", "12:10:20"],
    ],
    [
      "begin with the trigger at its start",
      60,
      0,
      "12:00:00",
      "11:30:00",
      ["12:00:00", "13:00:00"],
    ],
  ])("%s", (_, frequency, delay, from, now, expected) => {
    expect(next(frequency, delay, from, now)).toEqual(expected);
  });
});
