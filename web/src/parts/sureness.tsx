// Shows the uncertainty of a result's time, and how late it began.
import type { Result } from "../../../src/model/result.ts";
import { State } from "./state.tsx";
import { doubtOf, latenessOf, startText, sureText } from "./sure-text.ts";

/** Shows nothing if nothing was timed: a call whose name has no address has a total of 0. */
export function Sureness({ result: { timing, meta } }: { readonly result: Result }) {
  if (!timing.total) return null;
  const sure = sureText(timing);
  const doubt = doubtOf(timing);
  const late = latenessOf(meta);
  return (
    <>
      {doubt !== undefined && (
        <p class="row">
          <State tone="warn" word="Too uncertain to judge" />
          <span>The agent's machine was busy, which may have lengthened these times. {doubt}</span>
        </p>
      )}
      <p class="muted sure">
        {sure === undefined ? "The uncertainty was not measured" : `Uncertainty: ${sure}`}.
        {late !== null && ` ${startText(late, meta)}`}
      </p>
    </>
  );
}
