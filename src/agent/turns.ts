// Turns of the event loop. The thread that takes the timestamps of calls does one thing at a time,
// so that no answer waits behind more than one piece of work: runs start one by one, in the order
// of places.ts, and wait while the thread is behind.
import type { Clock } from "../runtime/clock.ts";
import { createPlaces } from "./places.ts";
import type { Claim } from "./places.ts";

/** Milliseconds; after a longer turn, no run starts. */
const LONGEST_TURN_MS = 1;

/**
 * A thread without a shorter turn for this long will not catch up: it starts runs anyway, and their
 * uncertainty shows it.
 */
const START_ANYWAY_AFTER_MS = 5000;

/** The chores of runs that end come first: until then, such a run holds its place. */
type Chore = "ending" | "other";

/** A run that waits for its start. */
export interface Start extends Claim {
  /** Starts that are withdrawn together. */
  readonly group: object;
}

interface Waiting extends Start {
  /** `hasPlace`: whether the run may start; false if its `latest` has passed. */
  readonly resolve: (hasPlace: boolean) => void;
  readonly reject: (reason: Error) => void;
}

/** A run's place among those that run at the same time. */
export interface Place {
  release(): void;
}

export type Turns = ReturnType<typeof createTurns>;

/** `places`: maximum runs at a time. */
export function createTurns(clock: Clock, places: number) {
  const starts = createStarts(places);
  const chores: Record<Chore, (() => void)[]> = { ending: [], other: [] };
  const haveChores = (): boolean => chores.ending.length > 0 || chores.other.length > 0;
  const pace = createPace(clock);
  const sleep = createSleep(clock);
  let startedLast = false;

  function turn(): void {
    const mayStart = pace.turnEnded() && !(startedLast && haveChores());
    const isExpired = starts.endExpired(clock.now());
    startedLast = mayStart && !isExpired && starts.startNext(clock.now());
    if (!startedLast && !isExpired) (chores.ending.shift() ?? chores.other.shift())?.();
    wake();
  }

  function wake(): void {
    if (pace.isInTurn()) return;
    if (haveChores() || starts.areDue(clock.now())) {
      pace.turnBegins();
      setImmediate(turn);
      return;
    }
    if (starts.haveFree()) pace.caughtUp();
    sleep.until(starts.dueAt(), wake);
  }

  return {
    /**
     * Resolves with a place when the run may start, from its `instant` on; with undefined after its
     * `latest`. Rejects with the reason if its group is withdrawn.
     */
    async start(given: Start): Promise<Place | undefined> {
      const { waiting, hasPlace } = starts.add(given);
      wake();
      if (!(await hasPlace)) return undefined;
      return {
        release() {
          starts.release(waiting);
          wake();
        },
      };
    },
    /** Rejects those starts of a group that still wait. */
    withdraw(group: object, reason: Error): void {
      starts.withdraw(group, reason);
      wake();
    },
    /** Resolves in a turn of its own: for work that is not urgent. */
    chore(of: Chore): Promise<void> {
      return new Promise((resolve) => {
        chores[of].push(resolve);
        wake();
      });
    },
  };
}

/** Starts that wait, and the places of runs that have started. */
function createStarts(count: number) {
  const places = createPlaces<Waiting>(count);
  const groups = new Map<object, Set<Waiting>>();

  function leaveGroup(waiting: Waiting): void {
    const members = groups.get(waiting.group);
    members?.delete(waiting);
    if (members?.size === 0) groups.delete(waiting.group);
  }

  return {
    add(given: Start) {
      const { promise: hasPlace, resolve, reject } = Promise.withResolvers<boolean>();
      const waiting: Waiting = { ...given, resolve, reject };
      const members = groups.get(given.group) ?? new Set();
      groups.set(given.group, members.add(waiting));
      places.add(waiting);
      return { waiting, hasPlace };
    },
    /** Whether `endExpired` or `startNext` would find one. */
    areDue: (now: number): boolean => Boolean(places.expired(now) ?? places.next(now)),
    /** When starts may next be due, in epoch milliseconds; Infinity: not by time alone. */
    dueAt: () => places.changesAt(),
    haveFree: () => places.areFree(),
    /** Ends one start whose `latest` has passed; returns false if there is none. */
    endExpired(now: number): boolean {
      const waiting = places.expired(now);
      if (!waiting) return false;
      places.withdraw(waiting);
      leaveGroup(waiting);
      waiting.resolve(false);
      return true;
    },
    /** Starts one run; returns false if none may start. */
    startNext(now: number): boolean {
      const waiting = places.next(now);
      if (!waiting) return false;
      places.take(waiting);
      leaveGroup(waiting);
      waiting.resolve(true);
      return true;
    },
    release: (waiting: Waiting): void => places.release(waiting),
    withdraw(group: object, reason: Error): void {
      for (const waiting of groups.get(group) ?? []) {
        places.withdraw(waiting);
        waiting.reject(reason);
      }
      groups.delete(group);
    },
  };
}

/** Judges by the length of turns whether the thread is on time. */
function createPace(clock: Clock) {
  /** Monotonic, like `behindSince`; undefined while no turn is under way. */
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
    /** Call it when nothing is left to do. */
    caughtUp: () => void (behindSince = undefined),
  };
}

/** One sleep at a time, until the instant that was asked for last. */
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
