// Cookies between the exchanges of one call, or of one workflow's run, by RFC 6265bis. Every request is one that its
// user makes: SameSite keeps none back. One set over http may take the place of a Secure one.
import { Cookie, CookieJar, PrefixSecurityEnum } from "tough-cookie";
import type { KeyValue } from "../model/fields.ts";
import type { HttpRequest } from "./http-request.ts";

export interface Cookies {
  /** What a request to the URL carries, as the value of its `Cookie` header; "" for none. */
  headerFor(url: URL): string;
  /** Takes the values of a response's `Set-Cookie` headers; those that the URL may not set are passed over. */
  store(url: URL, setCookieHeaders: readonly string[]): void;
}

// RFC 6265bis section 5.6: a cookie beyond the first is passed over, an attribute beyond the second without its cookie.
const MAX_PAIR_BYTES = 4096;
const MAX_ATTRIBUTE_BYTES = 1024;
// RFC 6265 section 6.1 asks for room for 50 cookies a domain and 3000 in all.
const MAX_PER_RESPONSE = 50;
const MAX_STORED = 1000;
const MAX_HEADER_BYTES = 16 * 1024;

/** Without any, and shared with nobody. */
export function createCookies(): Cookies {
  let jar: CookieJar | undefined;
  /** By what makes two cookies one. */
  const known = new Set<string>();
  return {
    headerFor(url) {
      if (!jar) return "";
      let header = "";
      for (const cookie of jar.getCookiesSync(addressOf(url))) {
        const next = header === "" ? "" : `${header}; `;
        const longer = `${next}${cookie.cookieString()}`;
        if (longer.length > MAX_HEADER_BYTES) break;
        header = longer;
      }
      return header;
    },
    store(url, setCookieHeaders) {
      for (const text of setCookieHeaders.slice(0, MAX_PER_RESPONSE)) {
        const cookie = readCookie(text);
        if (!cookie) continue;
        jar ??= newJar();
        const at = addressOf(url);
        if (!jar.setCookieSync(cookie, at, { ignoreError: true })) continue;
        const { domain, path, key } = cookie;
        const id = JSON.stringify([domain, path, key]);
        const isOver = cookie.TTL() <= 0;
        if (!isOver && known.size < MAX_STORED) known.add(id);
        if (!isOver && known.has(id)) continue;
        known.delete(id);
        jar.store.removeCookie(domain, path, key, () => undefined);
      }
    },
  };
}

const newJar = (): CookieJar =>
  new CookieJar(undefined, {
    rejectPublicSuffixes: true,
    prefixSecurity: PrefixSecurityEnum.DISABLED, // `keepsPrefix` is stricter
    allowSecureOnLocal: false,
    enforceSecureOriginOnStorage: true,
  });

/** A name that ends in the dot of the root is the same host without it. */
function addressOf(url: URL): string {
  if (!url.hostname.endsWith(".")) return url.href;
  const address = new URL(url);
  address.hostname = url.hostname.slice(0, -1);
  return address.href;
}

/** One without a name is known by its value alone. Undefined for what no user agent takes, from whatever URL. */
function readCookie(text: string): Cookie | undefined {
  const [pair = "", ...attributes] = text.split(";");
  const short = attributes.filter(
    (attribute) => valueOf(attribute).length <= MAX_ATTRIBUTE_BYTES,
  );
  const cookie = Cookie.parse([pair, ...short].join(";"), { loose: true });
  if (!cookie) return undefined;
  const bytes = cookie.key.length + cookie.value.length;
  if (bytes === 0 || bytes > MAX_PAIR_BYTES) return undefined;
  // RFC 6265bis section 5.7.
  if (cookie.sameSite === "none" && !cookie.secure) return undefined;
  return keepsPrefix(cookie) ? cookie : undefined;
}

const valueOf = (attribute: string): string =>
  attribute.slice(attribute.indexOf("=") + 1).trim();

/** RFC 6265bis section 5.7: whatever the case of the letters, since servers may pass over it. */
function keepsPrefix({ key, value, secure, domain, path }: Cookie): boolean {
  const isNameless = key === "";
  const text = (isNameless ? value : key).toLowerCase();
  if (text.startsWith("__secure-")) return !isNameless && secure;
  return (
    !text.startsWith("__host-") ||
    (!isNameless && secure && !domain && path === "/")
  );
}

/** Those that the definition gives come first, and stand where both have a name. */
export function withCookies(
  request: HttpRequest,
  cookies: Cookies,
): HttpRequest {
  const kept = cookies.headerFor(request.url);
  if (kept === "") return request;
  const given = request.headers.filter(isCookie);
  const names = new Set(given.flatMap(({ value }) => namesIn(value)));
  const added = kept.split("; ").filter((pair) => !names.has(nameOf(pair)));
  const value = [...given.map((header) => header.value), ...added].join("; ");
  return {
    ...request,
    headers: [
      ...request.headers.filter((header) => !isCookie(header)),
      { key: "Cookie", value },
    ],
  };
}

const isCookie = ({ key }: KeyValue): boolean => key.toLowerCase() === "cookie";

const namesIn = (header: string): string[] => header.split(";").map(nameOf);

const nameOf = (pair: string): string =>
  (pair.split("=", 1)[0] as string).trim();

export const setCookiesOf = (headers: readonly KeyValue[]): string[] =>
  headers
    .filter(({ key }) => key.toLowerCase() === "set-cookie")
    .map(({ value }) => value);
