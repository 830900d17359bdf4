// When deployments are due. A slot is a whole UTC minute, as epoch milliseconds. All nineteen
// frequencies divide a day and the epoch began at midnight, so a schedule is due in a slot when the
// slot's minutes modulo its frequency equal its phase.
import { LONGEST_CALL_MS } from "./time-limits.ts";

export const FREQUENCIES = [
  1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60, 120, 180, 240, 360, 480, 720, 1440,
] as const;
export type Frequency = (typeof FREQUENCIES)[number];

export const MINUTE_MS = 60_000;

/** Its cursor is the newest slot that is open. */
export const SCHEDULER_LEASE = "scheduler";

/** The scheduler opens a slot this long before it begins: ticks reach agents ahead of time. */
export const BEAT_LEAD_MS = 12_000;

/**
 * A change to a deployment takes effect at the first trigger more than this far ahead: longer than
 * the beat's lead, so the beat sees the change, unless storing it takes seconds
 * (`scheduler/new-schedules.ts`).
 */
export const CHANGE_LEAD_MS = 15_000;

export const MAX_START_DELAY_MS = 60_000;

/** The longest delay of a deployment. */
export const MAX_DELAY_SECONDS = 86_400;

/** When a deployment runs: minutes between triggers, and seconds from a trigger to the call. */
export interface Cadence {
  readonly frequency: number;
  readonly run_delay: number;
}

/** `active_until` is exclusive. */
export interface ActiveCadence extends Cadence {
  readonly active_from: number;
  readonly active_until: number;
}

/** One due run of a deployment, in epoch milliseconds. */
export interface DueRun {
  readonly trigger_time: number;
  readonly due_time: number;
  /** A run that has not started by then is MISSED. */
  readonly latest_start: number;
}

export const slotOf = (ms: number): number => Math.floor(ms / MINUTE_MS) * MINUTE_MS;

/** The newest slot that must be open at `now`. */
export const newestOpenSlot = (now: number): number => slotOf(now + BEAT_LEAD_MS);

const delayMinutes = (cadence: Cadence): number => Math.floor(cadence.run_delay / 60);

// Frequency and phase in one number. A phase is less than its frequency, which is at most the
// minutes of a day.
const keyOf = (frequency: number, phase: number): number => frequency * 1440 + phase;

/** Returns the key of the slots in which a schedule is due. */
export const slotKeyOf = (cadence: Cadence): number =>
  keyOf(cadence.frequency, delayMinutes(cadence) % cadence.frequency);

/** The keys of the schedules that are due in `slot`, one for each frequency, in ascending order. */
export const dueKeys = (slot: number): number[] =>
  FREQUENCIES.map((frequency) => keyOf(frequency, (slot / MINUTE_MS) % frequency));

/** Returns the run that is due in `slot`, for a schedule that `dueKeys` selects. */
export function dueRun(cadence: Cadence, slot: number): DueRun {
  const trigger_time = slot - delayMinutes(cadence) * MINUTE_MS;
  const due_time = trigger_time + cadence.run_delay * 1000;
  return {
    trigger_time,
    due_time,
    latest_start: due_time + startWindowMs(cadence.frequency),
  };
}

/**
 * Returns the slots, up to `newest`, of a schedule's triggers from `active_from` to before
 * `active_until`.
 */
export function slotsUpTo(
  { frequency, run_delay, active_from, active_until }: ActiveCadence,
  newest: number,
): number[] {
  const slots: number[] = [];
  for (
    let trigger = nextTrigger(frequency, active_from - 1);
    trigger < active_until;
    trigger = nextTrigger(frequency, trigger)
  ) {
    const slot = slotOf(trigger + run_delay * 1000);
    if (slot > newest) break;
    slots.push(slot);
  }
  return slots;
}

/** How late a run may start: 60 s, or half its period, whichever is less. */
export const startWindowMs = (frequency: number): number =>
  Math.min(MAX_START_DELAY_MS, (frequency * MINUTE_MS) / 2);

/** Time for a report to arrive. */
const REPORT_GRACE_MS = 60_000;

/** When a run of at most `longestMs` expires. For a workflow, planning sets it. */
export const expiryOf = (latestStart: number, longestMs = LONGEST_CALL_MS): number =>
  latestStart + longestMs + REPORT_GRACE_MS;

/** Whether a run of the slot may still start at `now`. */
export const mayStart = (slot: number, now: number): boolean =>
  now < slot + MINUTE_MS + MAX_START_DELAY_MS;

/** Whether a run of the slot may be too late to start at `now`. */
export const mayBeLate = (slot: number, now: number): boolean =>
  now > slot + startWindowMs(Math.min(...FREQUENCIES));

/** The first trigger strictly after `ms`. */
export function nextTrigger(frequency: number, ms: number): number {
  const period = frequency * MINUTE_MS;
  return (Math.floor(ms / period) + 1) * period;
}

/**
 * Returns when the next runs of a schedule are due after `now`, in epoch milliseconds, from its
 * first trigger at or after `active_from`.
 */
export function nextDueTimes(
  { frequency, run_delay, active_from }: Cadence & Pick<ActiveCadence, "active_from">,
  now: number,
  count: number,
): number[] {
  const delay = run_delay * 1000;
  const first = nextTrigger(frequency, Math.max(active_from - 1, now - delay));
  return Array.from({ length: count }, (_, n) => first + n * frequency * MINUTE_MS + delay);
}
