// How far the time of a result can be trusted, and how late it began.
import type { Result } from "../../../src/model/result.ts";
import { formatMs } from "./number.ts";
import { latenessOf, sureText } from "./sure-text.ts";

/** Nothing where no call was made. */
export function Sureness({ result: { timing, meta } }: { readonly result: Result }) {
  if (timing.total === null) return null;
  const sure = sureText(timing);
  const late = latenessOf(meta);
  return (
    <p class="muted sure">
      {sure === undefined ? "How sure this is was not measured" : `How sure: ${sure}`}.
      {late !== null && ` It began ${formatMs(Math.max(late, 0))} after it was due`}
      {meta.is_late && ", late"}
      {late !== null && "."}
    </p>
  );
}
