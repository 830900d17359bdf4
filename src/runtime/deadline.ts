// A deadline that the waits of one piece of work share, one after another.

export type Deadline = ReturnType<typeof createDeadline>;

/** Passes after `ms`, or with `cancel`. */
export function createDeadline(ms: number, cancel?: AbortSignal) {
  let isOver = cancel?.aborted ?? false;
  let onOver: (() => void) | undefined;
  const expire = (): void => {
    isOver = true;
    onOver?.();
  };
  const timer = setTimeout(expire, ms);
  const followers = cancel && followersOf(cancel).add(expire);
  return {
    isOver: () => isOver,
    /** Has `end` called when the deadline passes, or has passed; undefined: nothing waits. */
    watch(end: (() => void) | undefined): void {
      onOver = end;
      if (isOver) end?.();
    },
    /** Call it when the work has ended. */
    clear(): void {
      clearTimeout(timer);
      followers?.delete(expire);
    },
  };
}

const followersBySignal = new WeakMap<AbortSignal, Set<() => void>>();

/** Called when the signal aborts. Its own listeners are a list, searched for each that leaves. */
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
