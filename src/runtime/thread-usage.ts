// How this thread spends its time: busy, kept waiting for a processor, or asleep until an event.
import { openSync, readSync } from "node:fs";

/**
 * Milliseconds from an arbitrary start. `busy` includes the waits for a processor. A wait in the
 * middle of work counts twice, because the system does not say when it happened.
 */
interface Usage {
  readonly busy: number;
  readonly slept: number;
}

let runQueueWait: (() => number) | undefined;
let looks: ReturnType<typeof watchLooks> | undefined;

/** `Clock.busy` of the calling thread. */
export const busyNow = (): number => usageNow().busy;

/** `Clock.busyAtLastLook` of the calling thread. */
export const busyAtLastLook = (): number => (looks ??= watchLooks()).busyAtLast();

function usageNow(): Usage {
  const waited = (runQueueWait ??= openRunQueueWait())();
  const idle = performance.nodeTiming.idleTime;
  return { busy: performance.now() - idle + waited, slept: idle - waited };
}

const [SPACE, ZERO] = [32, 48];

/** Nanoseconds run, and waited: https://docs.kernel.org/scheduler/sched-stats.html */
const STATISTICS = "/proc/thread-self/schedstat";

/** Returns a function that reads milliseconds; always 0 where the system does not count them. */
function openRunQueueWait(): () => number {
  const file = openIfThere();
  if (file === undefined) return () => 0;
  const bytes = Buffer.alloc(64);
  return () => {
    const length = readSync(file, bytes, 0, bytes.length, 0);
    let nanoseconds = 0;
    for (let at = bytes.indexOf(SPACE) + 1; at < length && bytes[at] !== SPACE; at += 1)
      nanoseconds = nanoseconds * 10 + Number(bytes[at]) - ZERO;
    return nanoseconds / 1e6;
  };
}

function openIfThere(): number | undefined {
  try {
    return openSync(STATISTICS, "r");
  } catch {
    return undefined;
  }
}

/** A note takes microseconds, like the shortest turns. */
const NOTE_EVERY_MS = 0.25;

/** A thread that sleeps longer found no event when it looked. */
const LONGEST_LOOK_MS = 0.1;

/**
 * Notes the usage in turns of the event loop, after their events and before it looks for the next.
 * An immediate that keeps nothing alive does not keep the loop from sleeping either.
 */
function watchLooks() {
  const none: Usage = { busy: -Infinity, slept: Infinity };
  let [lastButOne, last] = [none, none];
  let notedAt = -Infinity;
  const note = (): void => {
    setImmediate(note).unref();
    const now = performance.now();
    if (now - notedAt < NOTE_EVERY_MS) return;
    notedAt = now;
    [lastButOne, last] = [last, usageNow()];
  };
  setImmediate(note).unref();
  return {
    // An event that ended a sleep arrived after the last note. Any other may have arrived while the
    // thread handled those of the turn before, which it looked for after the last note but one.
    busyAtLast: (): number =>
      (usageNow().slept - last.slept > LONGEST_LOOK_MS ? last : lastButOne).busy,
  };
}
