// Cookies between the exchanges of one call, or of one workflow's run, by RFC 6265bis. Every
// request is one that its user makes: SameSite keeps none back.
import {
  canonicalDomain,
  CookieJar,
  defaultPath,
  domainMatch,
  pathMatch,
  PrefixSecurityEnum,
} from "tough-cookie";
import type { Cookie } from "tough-cookie";
import type { KeyValue } from "../../model/fields.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { HttpRequest } from "./http-request.ts";
import { readCookie } from "./set-cookie.ts";

export interface Cookies {
  /** What a request to the URL carries, as the value of its `Cookie` header; "" for none. */
  headerFor(url: URL): string;
  /**
   * Takes the values of a response's `Set-Cookie` headers; those that the URL may not set are
   * passed over.
   */
  store(url: URL, setCookieHeaders: readonly string[]): void;
}

// RFC 6265 section 6.1 asks for room for 50 cookies a domain and 3000 in all.
const MAX_PER_RESPONSE = 50;
const MAX_STORED = 1000;
const MAX_HEADER_BYTES = 16 * 1024;

interface Kept {
  readonly cookie: Cookie;
  /** By the monotonic clock. */
  readonly ends: number;
}

/** Without any, and shared with nobody. What they have as `Expires` is an instant of `clock`. */
export function createCookies(clock: Clock): Cookies {
  let jar: CookieJar | undefined;
  /** By what makes two cookies one. */
  const kept = new Map<string, Kept>();

  function forget(cookie: Cookie): void {
    const { domain, path, key } = cookie;
    kept.delete(idOf(cookie));
    jar?.store.removeCookie(domain, path, key, () => undefined);
  }

  function forgetExpired(): void {
    const now = clock.monotonic();
    for (const { cookie, ends } of kept.values()) if (ends <= now) forget(cookie);
  }

  function take(cookie: Cookie, address: URL): void {
    jar ??= newJar();
    const now = new Date(clock.monotonic()); // tells their order
    if (!jar.setCookieSync(cookie, address, { ignoreError: true, now })) return;
    const id = idOf(cookie);
    const left = cookie.TTL(clock.now());
    if (left > 0 && (kept.has(id) || kept.size < MAX_STORED))
      kept.set(id, { cookie, ends: clock.monotonic() + left });
    else forget(cookie);
  }

  return {
    headerFor(url) {
      if (!jar) return "";
      forgetExpired();
      const options = { expire: false, sort: true };
      let header = "";
      for (const cookie of jar.getCookiesSync(addressOf(url).href, options)) {
        const next = header === "" ? "" : `${header}; `;
        const longer = `${next}${cookie.cookieString()}`;
        if (longer.length > MAX_HEADER_BYTES) break;
        header = longer;
      }
      return header;
    },
    store(url, setCookieHeaders) {
      if (setCookieHeaders.length === 0) return;
      forgetExpired();
      const address = addressOf(url);
      const host = canonicalDomain(address.hostname) ?? "";
      for (const text of setCookieHeaders.slice(0, MAX_PER_RESPONSE)) {
        const cookie = readCookie(text, host);
        if (cookie && !overlaysSecure(cookie, url, host, kept.values())) take(cookie, address);
      }
    },
  };
}

const newJar = (): CookieJar =>
  new CookieJar(undefined, {
    rejectPublicSuffixes: false, // `readCookie` is stricter
    prefixSecurity: PrefixSecurityEnum.DISABLED, // here too
    allowSecureOnLocal: false,
    enforceSecureOriginOnStorage: true,
  });

const idOf = ({ domain, path, key }: Cookie): string => JSON.stringify([domain, path, key]);

/**
 * For the jar, which would unescape the path, and does not know a host again whose name ends in the
 * dot of the root.
 */
function addressOf({ href }: URL): URL {
  const address = new URL(href);
  address.hostname = address.hostname.replace(/\.$/, "");
  address.pathname = address.pathname.replaceAll("%", "%25");
  return address;
}

/**
 * RFC 6265bis section 5.7: whether one set over http would stand where a Secure one of its name is
 * sent.
 */
function overlaysSecure(cookie: Cookie, url: URL, host: string, others: Iterable<Kept>): boolean {
  if (url.protocol === "https:" || cookie.secure) return false;
  const domain = cookie.cdomain() ?? host;
  const path = cookie.path ?? defaultPath(url.pathname);
  return [...others].some(
    ({ cookie: other }) =>
      other.secure &&
      other.key === cookie.key &&
      (domainMatch(other.domain, domain) || domainMatch(domain, other.domain)) &&
      pathMatch(path, other.path ?? "/"),
  );
}

/** Those that the definition gives come first, and stand where both have a name. */
export function withCookies(request: HttpRequest, cookies: Cookies): HttpRequest {
  const kept = cookies.headerFor(request.url);
  if (kept === "") return request;
  const given = request.headers.filter(isCookie);
  const names = new Set(given.flatMap(({ value }) => namesIn(value)));
  const added = kept.split("; ").filter((pair) => !names.has(nameOf(pair)));
  const own = given.map((header) => /^.*[^; \t]/.exec(header.value)?.[0] ?? "");
  const value = [...own, ...added].filter((text) => text !== "").join("; ");
  return {
    ...request,
    headers: [...request.headers.filter((header) => !isCookie(header)), { key: "Cookie", value }],
  };
}

const isCookie = ({ key }: KeyValue): boolean => key.toLowerCase() === "cookie";

const namesIn = (header: string): string[] => header.split(";").map(nameOf);

const nameOf = (pair: string): string => (pair.split("=", 1)[0] as string).trim();

export const setCookiesOf = (headers: readonly KeyValue[]): string[] =>
  headers.filter(({ key }) => key.toLowerCase() === "set-cookie").map(({ value }) => value);
