// Cookies between the exchanges of one call, or of one workflow run, by tough-cookie's rules.
// SameSite keeps none back: every request counts as one that the user makes.
import { Cookie, CookieJar, MemoryCookieStore } from "tough-cookie";
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

export type Cookies = ReturnType<typeof createCookies>;

/** An empty jar, shared with nobody. `Expires` is an instant of `clock`. */
export function createCookies(clock: Clock) {
  // Secure means https, also on loopback.
  const jar = new CookieJar(new CookieStore(), { allowSecureOnLocal: false });
  const stored = new Set<string>();

  const cookiesFor = (url: string): Cookie[] => {
    const now = clock.monotonic();
    return jar
      .getCookiesSync(url, { expire: false, sort: true })
      .filter((cookie) => (cookie.expiryTime() ?? Infinity) > now);
  };

  const put = (cookie: Cookie, url: URL): void => {
    const left = cookie.TTL(clock.now());
    // From here on by the monotonic clock; tough-cookie counts Max-Age from the last access.
    cookie.maxAge = null;
    cookie.expires = left === Infinity ? "Infinity" : new Date(clock.monotonic() + left);
    if (!jar.setCookieSync(cookie, url.href, { ignoreError: true })) return;
    const { domain, path, key } = cookie;
    const id = JSON.stringify([domain, path, key]);
    const hasRoom = stored.has(id) || stored.size < MAX_STORED;
    if (left > 0 && hasRoom) return void stored.add(id);
    stored.delete(id);
    jar.store.removeCookie(domain, path, key, () => undefined);
  };

  return {
    /** The value of a request's `Cookie` header; "" without cookies. */
    headerFor(url: URL): string {
      let header = "";
      for (const cookie of cookiesFor(url.href)) {
        const longer = `${header}${header && "; "}${cookie.cookieString()}`;
        if (longer.length > MAX_HEADER_BYTES) break;
        header = longer;
      }
      return header;
    },
    /** Takes the cookies that a response may set at its URL; ignores the others. */
    store(url: URL, headers: readonly KeyValue[]): void {
      const texts = headers.filter(isSetCookie).slice(0, MAX_PER_RESPONSE);
      if (texts.length === 0) return;
      // RFC 6265bis section 5.7: a cookie set over http must not hide a Secure one of its name.
      const secured =
        url.protocol === "http:"
          ? cookiesFor(url.href.replace("http:", "https:")).filter(({ secure }) => secure)
          : [];
      for (const { value } of texts) {
        const cookie = value.length > MAX_SET_COOKIE_BYTES ? undefined : Cookie.parse(value);
        if (cookie && !secured.some(({ key }) => key === cookie.key)) put(cookie, url);
      }
    },
  };
}

/**
 * Leaves the matching to the jar, which checks domain and path anyway: tough-cookie's own search
 * throws for hosts named `test` or `local`.
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

/** The call's own cookies come first, and win over those of the jar that have the same name. */
export function withCookies(request: HttpRequest, cookies: Cookies): HttpRequest {
  const kept = cookies.headerFor(request.url);
  if (kept === "") return request;
  const own = request.headers.filter(isCookie).map(({ value }) => trimEnd(value));
  const names = new Set(own.flatMap((value) => value.split(";").map(nameOf)));
  const added = kept.split("; ").filter((pair) => !names.has(nameOf(pair)));
  const value = [...own, ...added].filter((text) => text !== "").join("; ");
  return {
    ...request,
    headers: [...request.headers.filter((header) => !isCookie(header)), { key: "Cookie", value }],
  };
}

const isCookie = ({ key }: KeyValue): boolean => key.toLowerCase() === "cookie";

const isSetCookie = ({ key }: KeyValue): boolean => key.toLowerCase() === "set-cookie";

/** Without trailing separators. */
const trimEnd = (header: string): string => /^.*[^; \t]/.exec(header)?.[0] ?? "";

const nameOf = (pair: string): string => (pair.split("=", 1)[0] as string).trim();
