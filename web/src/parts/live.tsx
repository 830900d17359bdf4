// Shows whether the page is live.
import { liveState } from "../events.ts";

const WORDS = { off: "Paused", live: "Live", reconnecting: "Reconnecting …" } as const;

export const Live = () => (
  <span class={`live ${liveState.value}`} role="status">
    {WORDS[liveState.value]}
  </span>
);
