// The overview of a call as the API returns it, and how an event updates it.
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
  /** If false, `locations` has only that of the last result. */
  readonly is_deployed: boolean;
  readonly locations: readonly {
    readonly location_id: string;
    /** Null: none today or in the three days before (UTC). */
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
  /** Null: the reader may not see it. */
  readonly now: CallNow | null;
  readonly day: CallDay | null;
}

/** The query key of one call's overview, to invalidate it. */
export const overviewKey = (id: string) => ["calls", id, "overview"] as const;

/** Tells whether an outcome changes the numbers of the day: calls made, and runs missed. */
export const isCounted = ({ result, result_category }: Outcome): boolean =>
  result_category !== null || result === "MISSED";

/** Applies an event to a call; a result older than the known one changes nothing. */
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
