// The ids of a run's trace and spans, which follow from the run's id: processes that know nothing
// of one another, and agents of any version, add to the same trace without sending it along.
import { hash } from "node:crypto";

/** 32 hex digits. */
export const traceIdOf = (runId: string): string => hash("sha256", runId).slice(0, 32);

/** 16 hex digits. `part`: what names the span within its run. */
export const spanIdOf = (runId: string, part: string): string =>
  hash("sha256", `${runId} ${part}`).slice(0, 16);

/** Whether a trace belongs to this share of all, from 0 to 1: everywhere the same ones. */
export const isSampled = (traceId: string, share: number): boolean =>
  Number.parseInt(traceId.slice(0, 12), 16) < share * 2 ** 48;
