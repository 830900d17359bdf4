// Keeps cookies between the exchanges of one call, or of one workflow run, by tough-cookie's rules.
// SameSite withholds none: every request counts as the user's own.
import {
  Cookie,
  CookieJar,
  defaultPath,
  domainMatch,
  getPublicSuffix,
  MemoryCookieStore,
  pathMatch,
} from "tough-cookie";
import type { Callback } from "tough-cookie";
import type { KeyValue } from "../../model/fields.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { HttpRequest } from "./http-request.ts";

// RFC 6265 section 6.1 asks for room for 50 cookies per domain and 3000 in all.
const MAX_PER_RESPONSE = 50;
const MAX_STORED = 1000;
// RFC 6265bis section 5.6: a name and a value of 4096 bytes; the rest is for attributes.
const MAX_SET_COOKIE_BYTES = 4096 + 1024;
const MAX_HEADER_BYTES = 16 * 1024;
// The latest instant that a Date can hold.
const LATEST_DATE = 8.64e15;

export type Cookies = ReturnType<typeof createCookies>;

/** Names of cookies that a response set for any path, or deleted for its own. */
interface Renewed {
  readonly set: ReadonlySet<string>;
  readonly deleted: ReadonlySet<string>;
}

/** Creates an empty jar. `Expires` is an instant of `clock`. */
export function createCookies(clock: Clock) {
  // Secure means https, also on loopback.
  const jar = new CookieJar(new CookieStore(), { allowSecureOnLocal: false });
  const stored = new Map<string, Cookie>();

  const forget = (cookie: Cookie): void => {
    stored.delete(idOf(cookie));
    jar.store.removeCookie(cookie.domain, cookie.path, cookie.key, () => undefined);
  };
  const forgetExpired = (): void => {
    const now = clock.monotonic();
    for (const cookie of stored.values())
      if ((cookie.expiryTime() ?? Infinity) <= now) forget(cookie);
  };
  /** Returns false if the jar refuses the cookie. */
  const put = (cookie: Cookie, url: URL): boolean => {
    const left = cookie.TTL(clock.now());
    // From here on, by the monotonic clock; tough-cookie counts Max-Age from the last access.
    const end = clock.monotonic() + left;
    cookie.maxAge = null;
    cookie.expires = end > LATEST_DATE ? "Infinity" : new Date(end);
    if (!jar.setCookieSync(cookie, asWritten(url), { ignoreError: true })) return false;
    const id = idOf(cookie);
    const hasRoom = stored.has(id) || stored.size < MAX_STORED;
    if (left > 0 && hasRoom) stored.set(id, cookie);
    else forget(cookie);
    return true;
  };

  return {
    /** Returns the value of a request's `Cookie` header; "" without cookies. */
    headerFor(url: URL): string {
      forgetExpired();
      let header = "";
      for (const cookie of jar.getCookiesSync(asWritten(url), { expire: false, sort: true })) {
        const longer = `${header}${header && "; "}${cookie.cookieString()}`;
        if (longer.length > MAX_HEADER_BYTES) break;
        header = longer;
      }
      return header;
    },
    /** Stores the cookies that a response may set at its URL; ignores others. */
    store(url: URL, headers: readonly KeyValue[]): Renewed {
      const [set, deleted] = [new Set<string>(), new Set<string>()];
      const texts = headers.filter(isSetCookie).slice(0, MAX_PER_RESPONSE);
      if (texts.length > 0) forgetExpired();
      for (const { value } of texts) {
        const cookie = readCookie(value, url);
        const isDeletion = cookie && cookie.TTL(clock.now()) <= 0;
        if (!cookie || !honoursPrefix(cookie)) continue;
        if (hidesSecure(cookie, url, stored.values()) || !put(cookie, url)) continue;
        if (!isDeletion) set.add(cookie.key);
        else if (pathMatch(url.pathname, cookie.path ?? "/")) deleted.add(cookie.key);
      }
      return { set, deleted };
    },
  };
}

/**
 * RFC 6265bis section 5.7: ignores a Domain with non-ASCII characters, for which tough-cookie may
 * throw. If the host is an address or a public suffix (a single label, for example), a cookie whose
 * Domain is that host is for that host only; tough-cookie would refuse it.
 */
function readCookie(text: string, { hostname }: URL): Cookie | undefined {
  const cookie = text.length > MAX_SET_COOKIE_BYTES ? undefined : Cookie.parse(text);
  if (!cookie?.domain) return cookie;
  if (/[^ -~]/.test(cookie.domain)) return undefined;
  if (cookie.domain === hostname && !getPublicSuffix(hostname, NEVER_THROW)) cookie.domain = null;
  return cookie;
}

const NEVER_THROW = { allowSpecialUseDomain: true, ignoreError: true };

/**
 * tough-cookie decodes the path of a URL, but not the `Path` of a cookie: prevents the decoding.
 */
const asWritten = (url: URL): string => url.href.replaceAll("%", "%25");

const idOf = ({ domain, path, key }: Cookie): string => JSON.stringify([domain, path, key]);

/** RFC 6265bis section 5.7. A prefix may be in any case; tough-cookie checks it in one only. */
const honoursPrefix = ({ key, secure, domain, path }: Cookie): boolean =>
  /^__host-/i.test(key)
    ? secure && domain === null && path === "/"
    : secure || !/^__secure-/i.test(key);

/** RFC 6265bis section 5.7: whether a cookie set over http would overlay a Secure one. */
function hidesSecure(cookie: Cookie, url: URL, others: Iterable<Cookie>): boolean {
  if (url.protocol !== "http:") return false;
  const domain = cookie.cdomain() ?? url.hostname;
  const path = cookie.path ?? defaultPath(url.pathname);
  return [...others].some(
    (other) =>
      other.secure &&
      other.key === cookie.key &&
      (domainMatch(other.domain, domain) || domainMatch(domain, other.domain)) &&
      pathMatch(path, other.path ?? "/"),
  );
}

/**
 * Leaves matching to the jar, which checks domain and path anyway: tough-cookie's own search throws
 * for hosts named `test` or `local`.
 */
class CookieStore extends MemoryCookieStore {
  override findCookies(
    _domain: string | null,
    _path: string | null,
    _allowSpecialUseDomain?: boolean | Callback<Cookie[]>,
    callback?: Callback<Cookie[]>,
  ): Promise<Cookie[]> {
    if (callback) this.getAllCookies(callback);
    return this.getAllCookies();
  }
}

/** The request's URL with the host that its server knows, as in cURL: that of its Host header. */
export function siteOf({ url, headers }: Pick<HttpRequest, "url" | "headers">): URL {
  const host = headers.find(({ key }) => key.toLowerCase() === "host")?.value ?? "";
  if (host === url.host) return url;
  const site = new URL(url);
  site.host = host; // an invalid one changes nothing
  return site;
}

const NONE: ReadonlySet<string> = new Set();

/**
 * The call's own cookies come first, and override those in the jar with the same name, unless the
 * name is one of `newer`.
 */
export function withCookies(request: HttpRequest, cookies: Cookies, newer = NONE): HttpRequest {
  const kept = cookies.headerFor(siteOf(request));
  if (kept === "") return request;
  const renewed = kept
    .split("; ")
    .map(nameOf)
    .filter((name) => newer.has(name));
  const { headers } = withoutCookies(request, new Set(renewed));
  const own = headers.filter(isCookie).map(({ value }) => trimEnd(value));
  const names = new Set(own.flatMap((value) => value.split(";").map(nameOf)));
  const added = kept.split("; ").filter((pair) => !names.has(nameOf(pair)));
  const value = [...own, ...added].filter((text) => text !== "").join("; ");
  return {
    ...request,
    headers: [...headers.filter((header) => !isCookie(header)), { key: "Cookie", value }],
  };
}

/** Removes the call's own cookies of these names. */
export function withoutCookies(request: HttpRequest, names: ReadonlySet<string>): HttpRequest {
  if (names.size === 0 || !request.headers.some(isCookie)) return request;
  const headers = request.headers.map((header) => {
    if (!isCookie(header)) return header;
    const left = header.value.split(";").filter((pair) => !names.has(nameOf(pair)));
    return { ...header, value: left.join(";").trim() };
  });
  return { ...request, headers: headers.filter((each) => !isCookie(each) || each.value !== "") };
}

const isCookie = ({ key }: KeyValue): boolean => key.toLowerCase() === "cookie";

const isSetCookie = ({ key }: KeyValue): boolean => key.toLowerCase() === "set-cookie";

/** Without trailing separators. */
const trimEnd = (header: string): string => /^.*[^; \t]/.exec(header)?.[0] ?? "";

const nameOf = (pair: string): string => (pair.split("=", 1)[0] as string).trim();
