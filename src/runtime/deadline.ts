// A deadline shared by the successive waits of one piece of work.
import { systemClock } from "./clock.ts";

export type Deadline = ReturnType<typeof createDeadline>;

/** Creates a deadline that passes after `ms`, or when `cancel` aborts. */
export function createDeadline(ms: number, cancel?: AbortSignal) {
  const endsAt = systemClock.monotonic() + ms;
  let isOver = cancel?.aborted ?? false;
  let onOver: (() => void) | undefined;
  const expire = (): void => {
    isOver = true;
    onOver?.();
  };
  const stopTimer = startTimer(ms, expire);
  const followers = cancel && followersOf(cancel).add(expire);
  return {
    isOver: () => isOver,
    /** Until `ms` have passed, whether cancelled or not; negative afterwards. */
    leftMs: () => endsAt - systemClock.monotonic(),
    /** Calls `end` when the deadline passes, at once if it has; undefined when nothing waits. */
    watch(end: (() => void) | undefined): void {
      onOver = end;
      if (isOver) end?.();
    },
    /** Call it when the work has ended. */
    clear(): void {
      stopTimer();
      followers?.delete(expire);
    },
  };
}

/**
 * Calls `expire` after `ms`; returns a function that cancels it. Data that arrived during a stall
 * is handled first: after a stall, Node runs timers before it reads from sockets.
 */
export function startTimer(ms: number, expire: () => void): () => void {
  let last: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => (last = setImmediate(expire)), ms);
  return () => {
    clearTimeout(timer);
    clearImmediate(last);
  };
}

const followersBySignal = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Returns the functions to call when the signal aborts. A signal keeps its listeners in a list, and
 * searches it whenever one is removed.
 */
function followersOf(signal: AbortSignal): Set<() => void> {
  const known = followersBySignal.get(signal);
  if (known) return known;
  const followers = new Set<() => void>();
  followersBySignal.set(signal, followers);
  signal.addEventListener("abort", () => followers.forEach((follow) => follow()), { once: true });
  return followers;
}

/**
 * For work that cannot be cancelled: rejects with `failure()` when the signal aborts first, and
 * drops the work's outcome.
 */
export function untilAborted<Value>(
  work: Promise<Value>,
  signal: AbortSignal,
  failure: () => Error,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(failure());
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
    work.finally(() => signal.removeEventListener("abort", abort)).then(resolve, reject);
  });
}
