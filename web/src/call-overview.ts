// A call at one look, as the interface tells it, and what an event changes in it.
import type { CallDay } from "../../src/model/call-overview.ts";
import { stateNow } from "../../src/model/call-state.ts";
import type { StateNow } from "../../src/model/call-state.ts";
import type { ResultCategory, ResultCode } from "../../src/model/result.ts";

interface Outcome {
  readonly result_id: string;
  readonly result: ResultCode;
  readonly result_category: ResultCategory | null;
  readonly time: string;
  readonly latency: number | null;
}

interface OutcomeAt extends Outcome {
  readonly location_id: string;
}

export interface CallNow extends StateNow {
  /** False: of the last result, wherever it was. */
  readonly is_deployed: boolean;
  readonly locations: readonly {
    readonly location_id: string;
    /** Null: there is none yet. */
    readonly last: Outcome | null;
  }[];
}

export interface CallOverview {
  readonly id: string;
  readonly name: string;
  readonly tags: readonly string[];
  readonly method: string;
  readonly domain: string;
  readonly owner: string;
  readonly locations: readonly string[];
  readonly state: OutcomeAt | null;
  /** Null: it may not be read. */
  readonly now: CallNow | null;
  readonly day: CallDay | null;
}

/** Of one call, for what is read again. */
export const overviewKey = (id: string) => ["calls", id, "overview"] as const;

/** An older result than the one that is known changes nothing. */
export function withOutcome(call: CallOverview, event: OutcomeAt): CallOverview {
  const { state, now } = call;
  return {
    ...call,
    state: event.time < (state?.time ?? "") ? state : event,
    now: now && nowWith(now, event),
  };
}

function nowWith(now: CallNow, event: OutcomeAt): CallNow {
  const { location_id } = event;
  const isNewer = (last: Outcome | null | undefined): boolean => event.time >= (last?.time ?? "");
  if (!now.is_deployed && !isNewer(now.locations[0]?.last)) return now;
  const locations = now.is_deployed
    ? now.locations.map((one) =>
        one.location_id === location_id && isNewer(one.last) ? { location_id, last: event } : one,
      )
    : [{ location_id, last: event }];
  return { ...now, ...stateNow(locations), locations };
}
