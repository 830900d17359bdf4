// Hides secret values wherever they stand in a text: as they are, or in a form that they take on
// the wire and on the way back. The text is read through its encodings, since there are more ways
// to write a value than could be listed.
import { layersOf, WINDOWS_1252 } from "./undo-encodings.ts";
import type { Layer, Work } from "./undo-encodings.ts";

export const MASK = "********";

/** A shorter value is no secret, and hiding it would leave nothing of the text. */
const SHORTEST_SECRET = 4;

/** So much of the beginning of a longer value is masked too: it may have been cut off. */
const LONGEST_SHOWN = 256;

/**
 * What a mask may do in all, counted in characters read: some ten times what a call with a hundred
 * secrets takes.
 */
const MOST_WORK = 5e7;
const WORK_OF = { secret: 2000, comparison: 10 };

/**
 * A function that masks these values, spaces around them aside. What secrets share is masked as
 * one. Its work is bounded, since a target may choose both what is a secret, by where it redirects
 * to, and what is looked through: a text that would take more is masked as a whole, and so is each
 * one after it.
 */
export function createMask(secrets: Iterable<string>): (text: string) => string {
  const work = { left: MOST_WORK };
  const values = new Set(Array.from(secrets, (secret) => secret.trim()));
  const forms = [...values].flatMap((value) => formsOf(value, work));
  if (forms.length === 0 && work.left >= 0) return (text) => text;
  const search = searchFor(forms, work);
  return (text) => {
    const places = layersOf(text, work).flatMap(search);
    if (work.left < 0) return MASK;
    return places.length === 0 ? text : withoutPlaces(text, places);
  };
}

/** None, or not all of them, where no work is left. */
function formsOf(value: string, work: Work): string[] {
  if (value.length < SHORTEST_SECRET) return [];
  work.left -= WORK_OF.secret + value.length;
  if (work.left < 0) return [];
  const written = new Set([
    value,
    value.toWellFormed(),
    value.replaceAll(" ", "+"),
    value.toLowerCase(),
    hostOf(value),
  ]);
  return [...new Set([...written].flatMap(readingsOf))]
    .flatMap((form) => layersOf(form, work).map(({ text }) => text))
    .filter((form) => form.trim().length >= SHORTEST_SECRET);
}

/** As a URL shows a host that was given. */
function hostOf(value: string): string {
  const url = `http://${value}`;
  return /[\s/?#@\\%]/.test(value) || !URL.canParse(url) ? "" : new URL(url).host;
}

/** As it is, and in UTF-8 that is read as if it were in Latin-1, which has two meanings. */
function readingsOf(text: string): string[] {
  const utf8 = new TextEncoder().encode(text);
  if (utf8.length === text.length) return [text];
  const latin1 = utf8.reduce((bytes, byte) => bytes + String.fromCharCode(byte), "");
  return [text, latin1, WINDOWS_1252.decode(utf8)];
}

type Place = readonly [start: number, end: number];

/**
 * Of the four characters of a text that end here, the fewest that a form has: all of them where
 * they are ASCII.
 */
const hashAt = (before: number, text: string, at: number): number =>
  ((before << 7) ^ text.charCodeAt(at)) & 0xfffffff;

function hashOfStart(text: string): number {
  let hash = 0;
  for (let at = 0; at < SHORTEST_SECRET; at += 1) hash = hashAt(hash, text, at);
  return hash;
}

/**
 * Reads a text once, however many forms there are: it is compared with those that begin like what
 * stands there.
 */
function searchFor(forms: readonly string[], work: Work): (layer: Layer) => Place[] {
  const byStart = Map.groupBy(new Set(forms), hashOfStart);
  return ({ text, begins }) => {
    const places: [start: number, end: number][] = [];
    let hash = 0;
    for (let at = 0; at < text.length; at += 1) {
      hash = hashAt(hash, text, at);
      const alike = byStart.get(hash);
      const start = at + 1 - SHORTEST_SECRET;
      if (!alike || start < 0) continue;
      const end = start + longestAt(start, text, alike, work);
      const last = places.at(-1);
      if (last && start < last[1]) last[1] = Math.max(last[1], end);
      else if (start < end) places.push([start, end]);
    }
    return begins ? places.map((place) => originOf(place, begins)) : places;
  };
}

const originOf = ([start, end]: Place, begins: Uint32Array): Place => [
  begins[start] ?? start,
  begins[end] ?? end,
];

/** The length of the longest that stands there; 0 where none does, or no work is left. */
function longestAt(start: number, text: string, forms: readonly string[], work: Work): number {
  let longest = 0;
  for (const form of forms) {
    if (work.left < 0) return 0;
    let same = 0;
    while (same < form.length && form.charCodeAt(same) === text.charCodeAt(start + same)) same += 1;
    work.left -= WORK_OF.comparison + same;
    if (same >= Math.min(form.length, LONGEST_SHOWN)) longest = Math.max(longest, same);
  }
  return longest;
}

function withoutPlaces(text: string, places: readonly Place[]): string {
  const kept: string[] = [];
  let read = -1;
  for (const [start, end] of places.toSorted(([a], [b]) => a - b)) {
    if (start >= read) kept.push(text.slice(Math.max(read, 0), start), MASK);
    read = Math.max(read, end);
  }
  return kept.join("") + text.slice(read);
}
