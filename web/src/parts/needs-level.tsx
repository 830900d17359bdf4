// Shown instead of content that needs a key of a higher level.
import type { AccessLevel } from "../../../src/model/access.ts";
import { session } from "../session.ts";

interface NeedsLevelProps {
  readonly level: Exclude<AccessLevel, "VIEWER">;
  /** What such a key allows here, as in `create reports`. */
  readonly does: string;
}

export const NeedsLevel = ({ level, does }: NeedsLevelProps) => (
  <p class="notice">
    You need an {level === "EDITOR" ? "EDITOR or OWNER" : level} key to {does}. Yours is{" "}
    {session.value?.access_level}.
  </p>
);
