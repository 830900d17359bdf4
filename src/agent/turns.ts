// Turns of the event loop. The thread that takes the timestamps of calls does one thing at a time,
// so that no answer waits behind more than one piece of work: starts are in due order, and wait
// while the thread is behind.
import type { Clock } from "../runtime/clock.ts";

/** A turn that took longer keeps the next run from starting, in milliseconds. */
const LONGEST_TURN_MS = 1;

/**
 * A thread that had no shorter turn for this long never catches up, and starts runs nevertheless:
 * their uncertainty says so.
 */
const START_ANYWAY_AFTER_MS = 5000;

interface Start {
  /** Epoch milliseconds. */
  readonly instant: number;
  readonly group: object;
  readonly resolve: () => void;
  readonly reject: (reason: Error) => void;
}

export type Turns = ReturnType<typeof createTurns>;

/** `places`: maximum runs at a time. */
export function createTurns(clock: Clock, places: number) {
  const starts = createStarts();
  const chores: (() => void)[] = [];
  const pace = createPace(clock);
  const sleep = createSleep(clock);
  let free = places;
  let startedLast = false;

  function turn(): void {
    const mayStart = pace.turnEnded();
    startedLast = mayStart && isStartDue() && !(startedLast && chores.length > 0);
    if (startedLast) {
      free -= 1;
      starts.takeFirst()?.resolve();
    } else chores.shift()?.();
    wake();
  }

  const isStartDue = (): boolean => free > 0 && starts.isDue(clock.now());

  function wake(): void {
    if (pace.isInTurn()) return;
    if (chores.length > 0 || isStartDue()) {
      pace.turnBegins();
      setImmediate(turn);
    } else if (free > 0) {
      pace.caughtUp();
      sleep.until(starts.first()?.instant, wake);
    } else sleep.until(undefined, wake);
  }

  return {
    /**
     * Resolves when the run may start, never before `instant`; it then has a place until
     * `release`. Rejects with the reason for which its group is withdrawn.
     */
    start(instant: number, group: object): Promise<void> {
      return new Promise((resolve, reject) => {
        starts.add({ instant, group, resolve, reject });
        wake();
      });
    },
    release(): void {
      free += 1;
      wake();
    },
    /** Rejects the starts of a group that still wait. */
    withdraw(group: object, reason: Error): void {
      for (const { reject } of starts.takeGroup(group)) reject(reason);
      wake();
    },
    /** Resolves in a turn of its own: for work that is not urgent. */
    chore(): Promise<void> {
      return new Promise((resolve) => {
        chores.push(resolve);
        wake();
      });
    },
  };
}

/** Judges by the length of turns whether the thread is on time. */
function createPace(clock: Clock) {
  /** Monotonic, as the next one; undefined while nothing is to be done. */
  let turnBegan: number | undefined;
  /** When the first of the long turns in a row began; undefined after a short one. */
  let behindSince: number | undefined;
  return {
    isInTurn: () => turnBegan !== undefined,
    turnBegins: () => void (turnBegan = clock.monotonic()),
    /** Returns whether a run may start. */
    turnEnded(): boolean {
      const now = clock.monotonic();
      const began = turnBegan ?? now;
      turnBegan = undefined;
      behindSince = now - began > LONGEST_TURN_MS ? (behindSince ?? began) : undefined;
      return behindSince === undefined || now - behindSince > START_ANYWAY_AFTER_MS;
    },
    /** Nothing is left to be done. */
    caughtUp: () => void (behindSince = undefined),
  };
}

/** Starts that wait, by their instant; those of the same instant in the order they came. */
function createStarts() {
  let waiting: Start[] = []; // the first one last
  return {
    first: (): Start | undefined => waiting.at(-1),
    isDue: (now: number): boolean => (waiting.at(-1)?.instant ?? Infinity) <= now,
    takeFirst: (): Start | undefined => waiting.pop(),
    add(start: Start): void {
      let [low, high] = [0, waiting.length];
      while (low < high) {
        const middle = (low + high) >>> 1;
        if ((waiting[middle]?.instant ?? 0) > start.instant) low = middle + 1;
        else high = middle;
      }
      waiting.splice(low, 0, start);
    },
    takeGroup(group: object): Start[] {
      const taken = waiting.filter((start) => start.group === group);
      if (taken.length > 0) waiting = waiting.filter((start) => start.group !== group);
      return taken;
    },
  };
}

/** One sleep at a time, until the earliest instant that was asked for. */
function createSleep(clock: Clock) {
  let sleeping: { readonly instant: number; readonly end: AbortController } | undefined;
  return {
    /** Calls `wake` at the instant; undefined: sleeps no more. */
    until(instant: number | undefined, wake: () => void): void {
      if (sleeping?.instant === instant) return;
      sleeping?.end.abort();
      sleeping = undefined;
      if (instant === undefined) return;
      const end = new AbortController();
      sleeping = { instant, end };
      clock.waitUntil(instant, end.signal).then(
        () => {
          if (sleeping?.end === end) sleeping = undefined;
          wake();
        },
        () => undefined, // woken earlier
      );
    },
  };
}
