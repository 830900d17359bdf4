// Masks credentials by the names of their headers and parameters, and secrets anywhere in a text.
import type { KeyValue } from "./fields.ts";
import { percentDecoded } from "./percent-encoding.ts";
import { formsOf } from "./secret-forms.ts";

export const MASK = "********";

const NAMES = new Set([
  "authorization",
  "proxy-authorization",
  "cookie",
  "set-cookie",
  "sig",
  "pwd",
]);

// Matches parts of names: X-Api-Key, _token, client_secret, X-Amz-Signature.
const PARTS =
  /api[-_]?key|(^|[-_])key$|token|secret|passw|credential|signature|session|jwt|bearer|auth(?!or|ent)/;

/** Whether a header or parameter of this name carries a credential. */
export function isCredential(name: string): boolean {
  const known = judged.get(name);
  if (known !== undefined) return known;
  const lower = name.toLowerCase();
  const is = NAMES.has(lower) || PARTS.test(lower);
  if (judged.size >= MAX_JUDGED) judged.clear();
  if (name.length <= LONGEST_JUDGED) judged.set(name, is);
  return is;
}

/** Most names recur, but a server may choose any others. */
const judged = new Map<string, boolean>();
const MAX_JUDGED = 1000;
const LONGEST_JUDGED = 64;

/** Masks the values of credentials. */
export const maskPairs = (pairs: readonly KeyValue[]): KeyValue[] =>
  pairs.map(({ key, value }) => ({
    key,
    value: isCredential(key) ? MASK : value,
  }));

/**
 * Masks credentials in the authority, the query and the fragment (RFC 6749 section 4.2.2), also of
 * a URL that does not parse.
 */
export const maskUrl = (url: string): string =>
  url
    .replace(/^(https?:[/\\]*|(?:[a-z][a-z0-9+.-]*:)?[/\\]{2,})[^/\\?#]*@/i, `$1${MASK}@`)
    .replace(/([?&#])([^=&?#]*)=([^&#]*)/g, (whole, mark, name) =>
      isCredential(percentDecoded(name)) ? `${mark}${name}=${MASK}` : whole,
    );

/** Masking shorter values would obliterate most texts. */
const SHORTEST_SECRET = 4;

/** A secret whose end was cut off is masked from this length on. */
const SHORTEST_BEGINNING = 256;

/** Roughly in nanoseconds: ten times what a call with a hundred secrets takes. */
const MOST_WORK = 250e6;
const WORK_OF = { secret: 60_000, encoding: 60, lookup: 100, comparison: 30, character: 1 };

/**
 * Returns a function that masks these secrets in the forms listed in docs/security.md, overlapping
 * ones as one. Spaces around a secret do not count. The work is bounded, since a target chooses
 * texts and, by redirects, secrets: a text beyond the bound is masked as a whole, as is every later
 * one.
 */
export function createMask(secrets: Iterable<string>): (text: string) => string {
  const values = new Set(Array.from(secrets, (secret) => secret.trim()));
  if (values.size === 0) return (text) => text;
  const forms = new Set<string>();
  let work = MOST_WORK;
  for (const value of values) {
    if (value.length < SHORTEST_SECRET) continue;
    work -= WORK_OF.secret;
    for (const form of formsOf(value)) {
      work -= WORK_OF.encoding * form.length;
      if (form.trim().length >= SHORTEST_SECRET) forms.add(form);
    }
    if (work < 0) return () => MASK;
  }
  if (forms.size === 0) return (text) => text;
  const find = createFinder(forms, work);
  return (text) => {
    const places = find(text);
    return places ? withoutPlaces(text, places) : MASK;
  };
}

type Place = readonly [start: number, end: number];

/** Forms are looked up by their first 4 or 8 characters. */
const START_LENGTHS = [SHORTEST_SECRET, 8];

const startOf = (form: string): string =>
  form.slice(
    0,
    START_LENGTHS.findLast((length) => length <= form.length),
  );

/** Finds the places to mask, in order and without overlaps; undefined once `work` is used up. */
function createFinder(forms: ReadonlySet<string>, work: number) {
  const byStart = Map.groupBy(forms, startOf);
  const hashes = new Uint8Array(HASHES);
  for (const form of forms) hashes[hashAt(form, 0)] = 1;
  let left = work;

  /** Returns the length of the longest form at this place; 0 if there is none. */
  const lengthAt = (text: string, at: number): number => {
    let longest = 0;
    for (const length of START_LENGTHS) {
      left -= WORK_OF.lookup;
      for (const form of byStart.get(text.slice(at, at + length)) ?? []) {
        if (left < 0) return 0;
        const same = lengthOfCommon(form, text, at);
        left -= WORK_OF.comparison + WORK_OF.character * same;
        longest = Math.max(longest, same);
      }
    }
    return longest;
  };

  return (text: string): Place[] | undefined => {
    const places: [start: number, end: number][] = [];
    left -= text.length;
    for (let at = 0; at + SHORTEST_SECRET <= text.length && left >= 0; at += 1) {
      if (hashes[hashAt(text, at)] === 0) continue;
      const end = at + lengthAt(text, at);
      const last = places.at(-1);
      if (last && at < last[1]) last[1] = Math.max(last[1], end);
      else if (at < end) places.push([at, end]);
    }
    return left < 0 ? undefined : places;
  };
}

const HASHES = 2 ** 14;

/** Hashes the four characters at a place, which rules out most places without a lookup. */
const hashAt = (text: string, at: number): number =>
  (text.charCodeAt(at) ^
    (text.charCodeAt(at + 1) << 3) ^
    (text.charCodeAt(at + 2) << 6) ^
    (text.charCodeAt(at + 3) << 9)) &
  (HASHES - 1);

/**
 * Returns the length of the form, or of its beginning, at this place in the text; 0 if less than
 * `SHORTEST_BEGINNING` of a longer form is there.
 */
function lengthOfCommon(form: string, text: string, at: number): number {
  // Slices are compared as memory; a loop over characters takes many times as long.
  const isSame = (start: number, end: number): boolean =>
    text.slice(at + start, at + end) === form.slice(start, end);
  if (isSame(0, form.length)) return form.length;
  if (form.length <= SHORTEST_BEGINNING || !isSame(0, SHORTEST_BEGINNING)) return 0;
  let [same, different] = [SHORTEST_BEGINNING, form.length];
  while (different - same > 1) {
    const middle = Math.floor((same + different) / 2);
    if (isSame(same, middle)) same = middle;
    else different = middle;
  }
  return same;
}

function withoutPlaces(text: string, places: readonly Place[]): string {
  let [shown, read] = ["", 0];
  for (const [start, end] of places) {
    shown += text.slice(read, start) + MASK;
    read = end;
  }
  return shown + text.slice(read);
}
