// Cookies between the exchanges of one call, or of one workflow's run, by RFC 6265 and the prefixes of RFC 6265bis.
// Every request is one that its user makes: SameSite keeps none back.
import { Cookie, CookieJar } from "tough-cookie";
import type { KeyValue } from "../model/fields.ts";
import type { HttpRequest } from "./http-request.ts";

export interface Cookies {
  /** What a request to the URL carries, as the value of its `Cookie` header; "" for none. */
  headerFor(url: URL): string;
  /** Takes the values of a response's `Set-Cookie` headers; those that the URL may not set are passed over. */
  store(url: URL, setCookieHeaders: readonly string[]): void;
}

// RFC 6265 section 6.1 asks for room for 4096 bytes a cookie, 50 a domain and 3000 in all.
const MAX_COOKIE_BYTES = 4096;
const MAX_PER_RESPONSE = 50;
const MAX_STORED = 1000;
const MAX_HEADER_BYTES = 16 * 1024;

/** Without any, and shared with nobody. */
export function createCookies(): Cookies {
  let jar: CookieJar | undefined;
  let stored = 0;
  return {
    headerFor(url) {
      if (!jar) return "";
      let header = "";
      for (const cookie of jar.getCookiesSync(url.href)) {
        const next = header === "" ? "" : `${header}; `;
        const longer = `${next}${cookie.cookieString()}`;
        if (longer.length > MAX_HEADER_BYTES) break;
        header = longer;
      }
      return header;
    },
    store(url, setCookieHeaders) {
      for (const text of setCookieHeaders.slice(0, MAX_PER_RESPONSE)) {
        const cookie =
          text.length > MAX_COOKIE_BYTES ? undefined : Cookie.parse(text);
        if (!cookie || stored >= MAX_STORED) continue;
        // RFC 6265bis section 5.7.
        if (cookie.sameSite === "none" && !cookie.secure) continue;
        jar ??= newJar();
        if (jar.setCookieSync(cookie, url.href, { ignoreError: true }))
          stored += 1;
      }
    },
  };
}

const newJar = (): CookieJar =>
  new CookieJar(undefined, {
    rejectPublicSuffixes: true,
    prefixSecurity: "strict",
    allowSecureOnLocal: false,
    enforceSecureOriginOnStorage: true,
  });

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
