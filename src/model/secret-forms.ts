// The forms in which a secret is sent or comes back: as it is, and encoded.
import { percentEncoded } from "./percent-encoding.ts";

/** These characters are the same in every encoding. */
const PLAIN = /^[A-Za-z0-9]*$/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Returns the forms that docs/security.md lists. */
export function formsOf(value: string): Set<string> {
  const spellings = new Set([
    value,
    value.toWellFormed(),
    value.toLowerCase(),
    ...hostsOf(value),
    ...urlsOf(value),
  ]);
  return new Set([...[...spellings].flatMap(encodingsOf), ...base64Of(value)]);
}

/** Returns the value as the host of a URL, without the default port of either scheme. */
function hostsOf(value: string): string[] {
  if (/[\s/?#@\\%]/.test(value) || !URL.canParse(`http://${value}`)) return [];
  return [new URL(`http://${value}`).host, new URL(`https://${value}`).host];
}

/** Returns a value that begins a URL as parsers write it, with and without a slash at its end. */
function urlsOf(value: string): string[] {
  if (!/^https?:\/\//i.test(value) || !URL.canParse(value)) return [];
  const { href } = new URL(value);
  return [href, href.replace(/\/$/, "")];
}

/** Returns a base64 value without its padding, and as base64url. */
function base64Of(value: string): string[] {
  if (!BASE64.test(value)) return [];
  const bare = value.replace(/=+$/, "");
  return [bare, bare.replaceAll("+", "-").replaceAll("/", "_")];
}

function encodingsOf(text: string): string[] {
  if (PLAIN.test(text)) return [text];
  const component = percentEncoded(text);
  const query = component.replaceAll("'", "%27");
  const xml = htmlOf(text, "&quot;", "&apos;");
  const sent = [component, query, withPlus(component), jsonOf(text), xml];
  return [
    text,
    ...percentForms(component, (escape) => escape),
    ...percentForms(component.replace(/%../g, lower), lower),
    ...jsonForms(text),
    ...QUOTES.flatMap((quote) => APOSTROPHES.map((apostrophe) => htmlOf(text, quote, apostrophe))),
    ...sent.filter((form) => form !== text).flatMap(encodedAgain),
  ];
}

/** A form that was sent, quoted again in JSON, in a URL or in form data. */
const encodedAgain = (form: string): string[] => [
  jsonOf(form),
  percentEncoded(form),
  new URLSearchParams([["", form]]).toString().slice(1),
];

const lower = (escape: string): string => escape.toLowerCase();

type Hex = (escape: string) => string;

const withPlus = (text: string): string => text.replaceAll("%20", "+");

/** Encoders differ in the characters that they do not encode. */
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
  // A value inserted into a path or a query as it is, after a URL parser has read it.
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

/** JSON encoders differ in what they escape beyond the required. */
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

/** Escapes the last character of the text. */
const unicode = (text: string): string =>
  `\\u${text
    .charCodeAt(text.length - 1)
    .toString(16)
    .padStart(4, "0")}`;
const upperUnicode = (text: string): string => `\\u${unicode(text).slice(2).toUpperCase()}`;

// Encoders differ in how they write these.
const QUOTES = ['"', "&quot;", "&#34;", "&#x22;"];
const APOSTROPHES = ["'", "&apos;", "&#39;", "&#039;", "&#x27;"];

const htmlOf = (text: string, quote: string, apostrophe: string): string =>
  text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', quote)
    .replaceAll("'", apostrophe);
