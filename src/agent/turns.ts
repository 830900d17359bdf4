// Turns of the event loop. The thread that timestamps calls does little at a time, so no response
// waits behind more than a few starts or chores: runs start one by one unless they come from a
// backlog (starts.ts), and wait while the thread is behind.
import type { Clock } from "../runtime/clock.ts";
import { createStarts } from "./starts.ts";
import type { Place, Start } from "./starts.ts";

/** Milliseconds; after a longer turn, no run starts. */
const LONGEST_TURN_MS = 1;

/**
 * A thread without a shorter turn for this long will not catch up: it starts runs anyway, and
 * their uncertainty shows it.
 */
const START_ANYWAY_AFTER_MS = 5000;

/**
 * While runs are due, chores wait until there are this many: done in one turn, they find their code
 * in the processor's caches. A turn ends early once they have taken `CHORES_MS`.
 */
const CHORES_A_TURN = 4;
const CHORES_MS = LONGEST_TURN_MS / 2;

export type Turns = ReturnType<typeof createTurns>;

/** `places`: maximum calls at a time. */
export function createTurns(clock: Clock, places: number) {
  const starts = createStarts(clock, places);
  const chores = createChores(clock);
  const pace = createPace(clock);
  const sleep = createSleep(clock);
  let startedLast = false;

  function turn(): void {
    const mayStart = pace.turnEnded() && !(startedLast && chores.count() >= CHORES_A_TURN);
    const expired = starts.takeExpired(clock.now());
    const started = mayStart && !expired ? starts.takeNext(clock.now()) : [];
    startedLast = started.length > 0;
    if (!expired && !startedLast) chores.doSome();
    wake(); // first: the next turn's length then includes what the runs do now
    expired?.begin();
    for (const start of started) start.begin(placeOf(start));
  }

  function wake(): void {
    if (pace.isInTurn()) return;
    const now = clock.now();
    const due = starts.dueAt(now);
    if (chores.count() > 0 || due <= now) {
      pace.turnBegins();
      setImmediate(turn);
      return;
    }
    if (starts.haveFree()) pace.caughtUp();
    sleep.until(due, wake);
  }

  const placeOf = (start: Start): Place => ({
    release() {
      starts.release(start);
      wake();
    },
  });

  return {
    /** Calls `begin` or `withdrawn` later, once. */
    add(start: Start): void {
      starts.add(start);
      wake();
    },
    /** Withdraws a group's waiting starts. */
    withdraw(group: object, reason: Error): void {
      starts.withdraw(group, reason);
      wake();
    },
    /** Resolves in a turn without a start: for work that is not urgent. */
    chore(): Promise<void> {
      return new Promise((resolve) => {
        chores.add(resolve);
        wake();
      });
    },
  };
}

/** Work that is not urgent, done in the order in which it came. */
function createChores(clock: Clock) {
  const waiting: (() => void)[] = [];
  function work(end: number, most: number): void {
    const chore = waiting.shift();
    if (!chore) return;
    chore();
    // A chore continues in a microtask, before this one.
    queueMicrotask(() => {
      if (most > 1 && clock.monotonic() < end) work(end, most - 1);
    });
  }
  return {
    count: () => waiting.length,
    add: (chore: () => void): void => void waiting.push(chore),
    /** Does those of one turn. */
    doSome: (): void => work(clock.monotonic() + CHORES_MS, CHORES_A_TURN),
  };
}

/** Judges by the length of turns whether the thread is on time. */
function createPace(clock: Clock) {
  /** Monotonic, like `behindSince`; undefined between turns. */
  let turnBegan: number | undefined;
  /** When the current series of long turns began; undefined after a short one. */
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
    /** Call it when nothing is left to do. */
    caughtUp: () => void (behindSince = undefined),
  };
}

/** One sleep at a time, until the latest instant asked for. */
function createSleep(clock: Clock) {
  let sleeping: { readonly instant: number; readonly end: AbortController } | undefined;
  return {
    /** Calls `wake` at the instant; never if it is Infinity. */
    until(instant: number, wake: () => void): void {
      if (sleeping?.instant === instant) return;
      sleeping?.end.abort();
      sleeping = undefined;
      if (instant === Infinity) return;
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
