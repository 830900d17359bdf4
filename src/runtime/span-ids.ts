// The ids of a run's trace and spans, derived from the run's id: independent processes, and agents
// of any version, add to the same trace without passing its id along.
import { hash } from "node:crypto";

/** 32 hex digits. */
export const traceIdOf = (runId: string): string => hash("sha256", runId).slice(0, 32);

/** 16 hex digits. `part` names the span within its run. */
export const spanIdOf = (runId: string, part: string): string =>
  hash("sha256", `${runId} ${part}`).slice(0, 16);

/** The part that is a call, by its result's id: the target's spans are below it. */
export const callPart = (resultId: string): string => `call ${resultId}`;

/** Whether this fraction (0 to 1) of traces includes it: every process decides the same. */
export const isSampled = (traceId: string, share: number): boolean =>
  Number.parseInt(traceId.slice(0, 12), 16) < share * 2 ** 48;
