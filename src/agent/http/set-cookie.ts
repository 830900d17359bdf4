// A Set-Cookie header by RFC 6265bis sections 5.6 and 5.7, one character for each byte.
import { Cookie, getPublicSuffix } from "tough-cookie";

// Section 5.6: a cookie beyond the first is passed over, an attribute beyond the second without its
// cookie.
const MAX_PAIR_BYTES = 4096;
const MAX_ATTRIBUTE_BYTES = 1024;

/** Those of ASCII but the tab; what is above 7F is part of a character. */
const CONTROL = /[^\P{Cc}\t\u{80}-\u{9f}]/u;

/**
 * One without a name is known by its value alone. Undefined for what no user agent takes from the
 * host.
 */
export function readCookie(text: string, host: string): Cookie | undefined {
  if (CONTROL.test(text)) return undefined;
  const [pair = "", ...attributes] = text.split(";");
  const { key, value } = readPair(pair);
  const bytes = key.length + value.length;
  if (bytes === 0 || bytes > MAX_PAIR_BYTES) return undefined;
  const short = attributes.filter(
    (attribute) => readPair(attribute).value.length <= MAX_ATTRIBUTE_BYTES,
  );
  const cookie = Cookie.parse(["a=", ...short].join(";"));
  if (!cookie) return undefined;
  Object.assign(cookie, { key, value });
  if (isPublicSuffix(cookie.cdomain())) {
    if (cookie.cdomain() !== host) return undefined;
    cookie.domain = null;
  }
  if (cookie.sameSite === "none" && !cookie.secure) return undefined;
  return keepsPrefix(cookie) ? cookie : undefined;
}

/** Without `=`, all is value. */
function readPair(pair: string): { key: string; value: string } {
  const at = pair.indexOf("=");
  return {
    key: withoutBlanks(pair.slice(0, Math.max(at, 0))),
    value: withoutBlanks(pair.slice(at + 1)),
  };
}

/** `trim` would take bytes of other characters for blanks too. */
const withoutBlanks = (text: string): string => /[^ \t](?:.*[^ \t])?/.exec(text)?.[0] ?? "";

/** Such a Domain is for its own host alone, and counts for none there. An address is one too. */
const isPublicSuffix = (domain: string | undefined): boolean =>
  domain !== undefined && getPublicSuffix(domain, { ignoreError: true }) === undefined;

/** Whatever the case of the letters, since servers may pass over it. */
function keepsPrefix({ key, value, secure, domain, path }: Cookie): boolean {
  const isNameless = key === "";
  const text = (isNameless ? value : key).toLowerCase();
  if (text.startsWith("__secure-")) return !isNameless && secure;
  return !text.startsWith("__host-") || (!isNameless && secure && !domain && path === "/");
}
