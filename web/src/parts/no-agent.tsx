// The warning that no agent takes the runs of a location.
import type { ComponentChildren } from "preact";
import { lackInWords } from "../agent-lack.ts";
import { nameOfLocation, useLacks, useLocations } from "../locations.tsx";
import { State } from "./state.tsx";

interface NoAgentProps {
  readonly at: string;
  /** The consequence, which ends the sentence. */
  readonly children: ComponentChildren;
}

/** Shows nothing if an agent takes them. */
export function NoAgent({ at, children }: NoAgentProps) {
  const place = nameOfLocation(useLocations(), at);
  const lack = useLacks()(at);
  return (
    lack && (
      <span class="row">
        <NoAgentMark at={at} />
        <span>
          {lackInWords(lack, place)}: {children}
        </span>
      </span>
    )
  );
}

/** The mark next to the name of the location. */
export const NoAgentMark = ({ at }: Pick<NoAgentProps, "at">) =>
  useLacks()(at) && <State tone="warn" word="No agent" />;
