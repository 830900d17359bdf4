// Which headers and query parameters carry credentials, by their names: masked wherever a call or a
// result is told of.
import type { KeyValue } from "./fields.ts";
import { MASK } from "./mask.ts";

const NAMES = new Set([
  "authorization",
  "proxy-authorization",
  "cookie",
  "set-cookie",
  "sig",
  "pwd",
]);

// A part of the name counts, so that X-Api-Key, _token, client_secret and X-Amz-Signature are all
// found.
const PARTS =
  /api[-_]?key|(^|[-_])key$|token|secret|passw|credential|signature|session|jwt|bearer|auth(?!or|ent)/;

export const isCredential = (name: string): boolean => {
  const lower = name.toLowerCase();
  return NAMES.has(lower) || PARTS.test(lower);
};

export const maskPairs = (pairs: readonly KeyValue[]): KeyValue[] =>
  pairs.map(({ key, value }) => ({
    key,
    value: isCredential(key) ? MASK : value,
  }));

/** Works on text, so that a URL which cannot be parsed is masked all the same. */
export const maskUrl = (url: string): string =>
  url
    .replace(/^([a-z]+:\/\/)[^/?#]*@/i, `$1${MASK}@`)
    .replace(/([?&])([^=&?#]*)=([^&#]*)/g, (whole, mark, name) =>
      isCredential(decoded(name)) ? `${mark}${name}=${MASK}` : whole,
    );

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
