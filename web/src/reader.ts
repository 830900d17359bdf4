// Tells whether someone is using the pages: an open page alone must not keep its session alive.
import { now } from "./now.ts";

const AWAY_AFTER_MS = 5 * 60_000;
const INPUTS = ["pointerdown", "keydown", "wheel", "touchmove"] as const;

let seen = now();
for (const input of INPUTS)
  addEventListener(input, () => (seen = now()), { capture: true, passive: true });

/** True after some minutes without input. */
export const isReaderAway = (): boolean => now() - seen > AWAY_AFTER_MS;
