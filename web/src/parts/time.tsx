// Shows instants in UTC, with the local time on hover, or the other way round.
import { signal } from "@preact/signals";
import { localText, offsetHere, utcText } from "../clock.ts";

const LOCAL_TIME = "local-time";

/** Whether the reader wants the local time of this machine. */
export const isLocalTime = signal(localStorage.getItem(LOCAL_TIME) === "yes");

export function chooseLocalTime(isLocal: boolean): void {
  isLocalTime.value = isLocal;
  localStorage.setItem(LOCAL_TIME, isLocal ? "yes" : "no");
}

/** The zone that the reader chose, in words. */
export const zoneName = (): string => (isLocalTime.value ? "local time" : "UTC");

/**
 * Reads the value of a date-time field, which has no zone, in the time that the reader chose;
 * empty if it is none.
 */
export function instantOf(text: string): string {
  const date = new Date(isLocalTime.value ? text : `${text}Z`);
  return Number.isNaN(date.getTime()) ? "" : date.toISOString();
}

/** Returns the value of a date-time field for an instant, in the time that the reader chose. */
export const instantText = (iso: string): string =>
  iso === "" ? "" : formatTime(iso).slice(0, 16).replace(" ", "T");

/** `2026-11-22 14:05:09`, in UTC or in local time. */
export function formatTime(iso: string | number, local = isLocalTime.value): string {
  const ms = new Date(iso).getTime();
  return local ? localText(ms, offsetHere) : utcText(ms);
}

/** Shows an instant in the time that the reader chose, and in the other one on hover. */
export const Time = ({ at }: { readonly at: string }) => (
  <time dateTime={at} title={formatTime(at, !isLocalTime.value)}>
    {formatTime(at)}
  </time>
);
