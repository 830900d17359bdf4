// The forms in which a secret stands in a text: as it is, and as it is encoded on the wire.

/** These characters are the same in every encoding. */
const PLAIN = /^[A-Za-z0-9]*$/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/**
 * The value and its encodings: as it is sent, as it comes back, and as what was sent is encoded
 * once more, in JSON or a URL.
 */
export function formsOf(value: string): Set<string> {
  const spellings = [value, value.toLowerCase(), hostOf(value)];
  return new Set([...spellings.flatMap(encodingsOf), ...base64Of(value)]);
}

/** As a URL shows a host that was filled in. */
function hostOf(value: string): string {
  const url = `http://${value}`;
  return /[\s/?#@\\%]/.test(value) || !URL.canParse(url) ? "" : new URL(url).host;
}

/** What is base64 already, without padding, and as base64url. */
function base64Of(value: string): string[] {
  if (!BASE64.test(value)) return [];
  const bare = value.replace(/=+$/, "");
  return [bare, bare.replaceAll("+", "-").replaceAll("/", "_")];
}

function encodingsOf(text: string): string[] {
  if (PLAIN.test(text)) return [text];
  const component = componentOf(text);
  const sent = [component, component.replaceAll("'", "%27"), withPlus(component), jsonOf(text)];
  const again = [...sent, htmlOf(text, "&quot;", "&apos;")].flatMap((form) =>
    form === text
      ? []
      : [jsonOf(form), componentOf(form), new URLSearchParams([["", form]]).toString().slice(1)],
  );
  return [
    text,
    text.toWellFormed(),
    ...percentForms(component, (escape) => escape),
    ...percentForms(component.replace(/%../g, lower), lower),
    ...jsonForms(text),
    ...HTML_QUOTES.map(([quote, apostrophe]) => htmlOf(text, quote, apostrophe)),
    ...again,
  ];
}

const lower = (escape: string): string => escape.toLowerCase();

type Hex = (escape: string) => string;

/** encodeURIComponent; a lone surrogate becomes U+FFFD, as in every URL. */
const componentOf = (text: string): string => encodeURIComponent(text.toWellFormed());

const withPlus = (text: string): string => text.replaceAll("%20", "+");

/** Encoders differ in the characters that they leave as they are. */
function percentForms(component: string, hex: Hex): string[] {
  const query = component.replaceAll("'", "%27"); // a URL's query (WHATWG URL)
  const mostly = query.replaceAll("!", "%21").replaceAll("(", "%28").replaceAll(")", "%29");
  const strict = mostly.replaceAll("*", hex("%2A")); // RFC 3986
  const withTilde = strict.replaceAll("~", hex("%7E"));
  const all = withTilde
    .replaceAll("-", hex("%2D"))
    .replaceAll(".", hex("%2E"))
    .replaceAll("_", hex("%5F"));
  const form = mostly.replaceAll("~", hex("%7E")); // URLSearchParams
  const spaced = [component, query, strict, withTilde, all, form];
  // What a URL's parser leaves of a value that stands there as it is.
  const raw = component.replace(/%(?:2[456BCF]|3[ABD]|40|5[BCD]|7C)/gi, decodeURIComponent);
  return [
    ...spaced,
    ...spaced.map(withPlus),
    strict.replaceAll(hex("%2F"), "/"), // a path
    raw,
    raw.replace(/%(?:3F|5E|60|7[BD])/gi, decodeURIComponent).replaceAll("'", "%27"),
  ];
}

const jsonOf = (text: string): string => JSON.stringify(text).slice(1, -1);

/** Writers of JSON differ in what they escape beyond the necessary. */
function jsonForms(text: string): string[] {
  const json = jsonOf(text);
  const ascii = json.replace(/[^ -~]/g, unicode);
  return [
    json,
    ascii, // Python
    json.replace(/[^ -~]/g, upperUnicode), // Jackson
    json.replaceAll("/", "\\/"),
    ascii.replaceAll("/", "\\/"), // PHP
    json.replace(/[<>&\u2028\u2029]/g, unicode), // Go
    json.replace(/[<>&='\u2028\u2029]/g, unicode), // Gson
    json.replace(/\\"|[<>&'+`]|[^ -~]/g, upperUnicode), // .NET
  ];
}

/** Of the last character. */
const unicode = (text: string): string =>
  `\\u${text
    .charCodeAt(text.length - 1)
    .toString(16)
    .padStart(4, "0")}`;
const upperUnicode = (text: string): string => `\\u${unicode(text).slice(2).toUpperCase()}`;

const HTML_QUOTES = [
  ["&quot;", "&apos;"],
  ['"', "'"],
  ["&quot;", "'"],
  ["&quot;", "&#39;"],
  ["&quot;", "&#x27;"],
  ["&quot;", "&#039;"],
  ["&#34;", "&#39;"],
] as const;

const htmlOf = (text: string, quote: string, apostrophe: string): string =>
  text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', quote)
    .replaceAll("'", apostrophe);
