// The current state of a call, and at how many of its locations.
import { placesText, toneOfState, whereText } from "../call-state.ts";
import type { CallNow } from "../call-overview.ts";
import { nameOfLocation } from "../locations.tsx";
import type { Place } from "../places.ts";
import { wordOf } from "./run-state.tsx";
import { State } from "./state.tsx";

interface CallStateProps {
  /** Null: the reader may not see it. */
  readonly now: CallNow | null;
  readonly places: readonly Place[];
}

export function CallState({ now, places }: CallStateProps) {
  const tone = toneOfState(now?.state);
  if (!now) return <State tone={tone} word="Not shared" />;
  const where = whereText(now);
  const word = wordOfNotMade(now);
  return (
    <span
      class="call-state"
      title={placesText(now, (location) => nameOfLocation(places, location))}
    >
      <State tone={tone} {...(word !== undefined && { word })} />
      {where && <span class="where"> {where}</span>}
    </span>
  );
}

/** Says why no call was made; undefined: the word of the state says enough. */
function wordOfNotMade({ state, at, locations }: CallNow): string | undefined {
  if (state !== "NO_RESULT") return undefined;
  const codes = locations.flatMap(({ location_id, last }) =>
    last && at.includes(location_id) ? [last.result] : [],
  );
  const [result] = codes;
  return result && codes.every((code) => code === result) ? wordOf({ result }) : undefined;
}
