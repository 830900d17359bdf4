// The band of a score: a shape, a word and a colour.
import type { Band as BandName } from "../../../src/model/score.ts";
import { State } from "./state.tsx";
import type { Tone } from "../tone.ts";

const TONES: Readonly<Record<BandName, Tone>> = { good: "pass", fair: "warn", poor: "fail" };
const WORDS: Readonly<Record<BandName, string>> = { good: "Good", fair: "Fair", poor: "Poor" };

export const toneOfBand = (band: BandName | null): Tone => (band ? TONES[band] : "none");

/** `band` is null if there is no score. */
export const Band = ({ band }: { readonly band: BandName | null }) => (
  <State tone={toneOfBand(band)} word={band ? WORDS[band] : "No score"} />
);
