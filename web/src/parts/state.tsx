// The state of a call or a run: a shape, a word and a colour.
import type { Tone } from "../tone.ts";

const SHAPES: Readonly<Record<Tone, string>> = {
  pass: "M3 8.5 6.5 12 13 4.5",
  warn: "M8 2 15 14H1z M8 6v4 M8 12v.1",
  fail: "M4 4l8 8 M12 4l-8 8",
  missed: "M8 2a6 6 0 1 0 .01 0z M5 8h6",
  none: "M8 3a5 5 0 1 0 .01 0z",
};

const WORDS: Readonly<Record<Tone, string>> = {
  pass: "Passing",
  warn: "Warning",
  fail: "Failing",
  missed: "Missed",
  none: "No result",
};

/** The shape alone, for when the word is shown elsewhere. */
export const StateShape = ({ tone }: { readonly tone: Tone }) => (
  <svg viewBox="0 0 16 16" aria-hidden="true">
    <path
      d={SHAPES[tone]}
      fill="none"
      stroke="currentColor"
      stroke-width="2"
      stroke-linecap="round"
      stroke-linejoin="round"
    />
  </svg>
);

/** `word` defaults to that of the tone. */
export const State = ({ tone, word }: { readonly tone: Tone; readonly word?: string }) => (
  <span class={`state ${tone}`}>
    <StateShape tone={tone} />
    {word ?? WORDS[tone]}
  </span>
);
