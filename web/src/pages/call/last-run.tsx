// The last run of a call, where it says more than the calls before.
import { isInFlight } from "../../../../src/model/result.ts";
import type { ListedResult } from "../../../../src/model/result.ts";
import type { CallNow } from "../../call-overview.ts";
import { Time } from "../../parts/time.tsx";

interface LastRunProps {
  readonly last: ListedResult;
  /** Names its location: runs elsewhere ended in another way. */
  readonly nameOf?: ((location: string) => string) | undefined;
}

/** Returns the newest run that was not made, if nothing worse happens at any location. */
export function unmadeOf(
  state: CallNow | null,
  results: readonly ListedResult[],
): { readonly last: ListedResult; readonly isPartial: boolean } | undefined {
  if (state?.state !== "NO_RESULT") return undefined;
  const last = results.find(({ meta }) => !isInFlight(meta) && state.at.includes(meta.location_id));
  return last && { last, isPartial: state.at.length < state.locations.length };
}

export function LastRun({ last: { id, meta }, nameOf }: LastRunProps) {
  const time = <Time at={meta.start_time ?? meta.due_time} />;
  if (isInFlight(meta))
    return <p class="muted">A run has not ended yet: it was ordered for {time}.</p>;
  const link = <a href={`results/${id}`}>{time}</a>;
  if (meta.result_category !== null) return <p class="muted">The last run was at {link}.</p>;
  const where = nameOf ? ` at ${nameOf(meta.location_id)}` : "";
  return (
    <p class="message">
      The last run{where}, at {link}, could not be made: {meta.message ?? meta.result}
    </p>
  );
}
