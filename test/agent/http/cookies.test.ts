import { expect, it } from "vitest";
import { createCookies, withCookies } from "../../../src/agent/http/cookies.ts";
import type { Cookies } from "../../../src/agent/http/cookies.ts";
import { systemClock } from "../../../src/runtime/clock.ts";
import { createManualClock } from "../../support/manual-clock.ts";
import { requestOf } from "../calling.ts";

const store = (cookies: Cookies, url: URL, setCookies: readonly string[]): void => {
  cookies.store(
    url,
    setCookies.map((value) => ({ key: "Set-Cookie", value })),
  );
};

/** Returns the `Cookie` header for `to` after `from` set the cookies. */
function sent(from: string, setCookies: readonly string[], to: string): string {
  const cookies = createCookies(systemClock);
  store(cookies, new URL(from), setCookies);
  return cookies.headerFor(new URL(to));
}

const HOST = "https://www.shop.example.com/a/b";

it.each<[string, string, string[], string, string]>([
  ["back to its host", HOST, ["a=1"], HOST, "a=1"],
  ["not to another host", HOST, ["a=1"], "https://example.com/a/b", ""],
  [
    "not to a host below, without a Domain",
    HOST,
    ["a=1"],
    "https://x.www.shop.example.com/a/b",
    "",
  ],
  [
    "to the hosts of its Domain",
    HOST,
    ["a=1; Domain=shop.example.com"],
    "https://cdn.shop.example.com/a/b",
    "a=1",
  ],
  [
    "nowhere with the Domain of another host",
    HOST,
    ["a=1; Domain=other.example"],
    "https://other.example/a/b",
    "",
  ],
  [
    "nowhere with a Domain below its host",
    HOST,
    ["a=1; Domain=x.www.shop.example.com"],
    "https://x.www.shop.example.com/a/b",
    "",
  ],
  [
    "nowhere with a public suffix as its Domain",
    "https://shop.co.uk/",
    ["a=1; Domain=co.uk"],
    "https://other.co.uk/",
    "",
  ],
  [
    "nowhere with a top-level domain as its Domain",
    "https://shop.com/",
    ["a=1; Domain=com"],
    "https://shop.com/",
    "",
  ],
  ["below its default path", HOST, ["a=1"], "https://www.shop.example.com/a/", "a=1"],
  ["not above its default path", HOST, ["a=1"], "https://www.shop.example.com/", ""],
  ["below its Path", HOST, ["a=1; Path=/z"], "https://www.shop.example.com/z/y", "a=1"],
  [
    "not to a path that merely begins with its Path",
    HOST,
    ["a=1; Path=/z"],
    "https://www.shop.example.com/zy",
    "",
  ],
  ["not over http when it is Secure", HOST, ["a=1; Secure"], "http://www.shop.example.com/a/b", ""],
  [
    "not over http to loopback when it is Secure",
    "https://127.0.0.1/",
    ["a=1; Secure"],
    "http://127.0.0.1/",
    "",
  ],
  [
    "nowhere when it is Secure and set over http",
    "http://www.shop.example.com/a/b",
    ["a=1; Secure"],
    HOST,
    "",
  ],
  ["before it expires", HOST, ["a=1; Max-Age=100"], HOST, "a=1"],
  ["with a Max-Age beyond all dates", HOST, [`a=1; Max-Age=${2n ** 63n - 1n}`], HOST, "a=1"],
  ["not once Max-Age 0 deletes it", HOST, ["a=1", "a=2; Max-Age=0"], HOST, ""],
  [
    "not once an Expires in the past deletes it",
    HOST,
    ["a=1", "a=2; Expires=Thu, 01 Jan 2015 00:00:00 GMT"],
    HOST,
    "",
  ],
  [
    "by Max-Age rather than Expires",
    HOST,
    ["a=1; Expires=Thu, 01 Jan 2015 00:00:00 GMT; Max-Age=100"],
    HOST,
    "a=1",
  ],
  [
    "as __Host- with all that the prefix requires",
    HOST,
    ["__Host-a=1; Secure; Path=/"],
    HOST,
    "__Host-a=1",
  ],
  ["not as __Host- without Path=/", HOST, ["__Host-a=1; Secure; Path=/a"], HOST, ""],
  [
    "not as __Host- with a Domain",
    HOST,
    ["__Host-a=1; Secure; Path=/; Domain=shop.example.com"],
    HOST,
    "",
  ],
  ["not as __Host- without Secure", HOST, ["__Host-a=1; Path=/"], HOST, ""],
  ["not as __Secure- without Secure", HOST, ["__Secure-a=1"], HOST, ""],
  ["not as __host- without Path=/", HOST, ["__host-a=1; Secure"], HOST, ""],
  [
    "not as __HOST- with a Domain",
    HOST,
    ["__HOST-a=1; Secure; Path=/; Domain=shop.example.com"],
    HOST,
    "",
  ],
  ["not as __secure- without Secure", HOST, ["__secure-a=1"], HOST, ""],
  ["as __secure- with Secure", HOST, ["__secure-a=1; Secure"], HOST, "__secure-a=1"],
  ["as __host- with all of it", HOST, ["__host-a=1; Secure; Path=/"], HOST, "__host-a=1"],
  [
    "of a host whose name ends in a dot",
    "https://example.com./",
    ["a=1"],
    "https://example.com./",
    "a=1",
  ],
  ["nowhere with a Domain that ends in a dot", HOST, ["a=1; Domain=shop.example.com."], HOST, ""],
  [
    "to the hosts of a Domain that begins with a dot",
    HOST,
    ["a=1; Domain=.shop.example.com"],
    "https://cdn.shop.example.com/a/b",
    "a=1",
  ],
  [
    "as without a Domain when that is empty",
    HOST,
    ["a=1; Domain=", "b=2; Domain=."],
    HOST,
    "a=1; b=2",
  ],
  [
    "of a host with one label",
    "http://test/",
    ["a=1", "b=2; Domain=test", "c=3; Domain=.test"],
    "http://test/",
    "a=1; b=2; c=3",
  ],
  ["of one label to no host below it", "http://db/", ["a=1; Domain=db"], "http://x.db/", ""],
  [
    "of a public suffix back to it",
    "https://github.io/",
    ["a=1; Domain=github.io"],
    "https://github.io/",
    "a=1",
  ],
  [
    "of a public suffix to no host below it",
    "https://github.io/",
    ["a=1; Domain=github.io"],
    "https://shop.github.io/",
    "",
  ],
  [
    "of an IPv4 address",
    "http://127.0.0.1/",
    ["a=1", "b=2; Domain=127.0.0.1", "c=3; Domain=0.0.1"],
    "http://127.0.0.1/",
    "a=1; b=2",
  ],
  [
    "of an IPv6 address",
    "http://[::1]/",
    ["a=1", "b=2; Domain=[::1]"],
    "http://[0::1]/",
    "a=1; b=2",
  ],
  [
    "below its default path with an escape",
    "https://www.shop.example.com/a%20b/c",
    ["a=1"],
    "https://www.shop.example.com/a%20b/d",
    "a=1",
  ],
  [
    "below its Path with an escape",
    "https://www.shop.example.com/a%20b/c",
    ["a=1; Path=/a%20b", "b=2; Path=/a%20b/%63", "c=3; Path=/%61%20b"],
    "https://www.shop.example.com/a%20b/d",
    "a=1",
  ],
  [
    "of the longer path first, then of the older ones",
    HOST,
    ["a=1; Path=/", "b=2", "c=3; Path=/a/b", "d=4", "a=5; Path=/"],
    HOST,
    "c=3; b=2; d=4; a=5",
  ],
  ["with every byte of its value", HOST, ["a= caf\u00c3\u00a9\t"], HOST, "a=caf\u00c3\u00a9"],
  ["not with a control character", HOST, ["a=\u0001"], HOST, ""],
  ["not without a name", HOST, ["a", "=b", "=__Host-a=1; Secure; Path=/"], HOST, ""],
  ["whatever its SameSite", HOST, ["a=1; SameSite=Strict"], HOST, "a=1"],
  ["as it was set last", HOST, ["a=1", "b=2", "a=3"], HOST, "a=3; b=2"],
  [
    "of 4096 bytes, whatever its attributes",
    HOST,
    [`a=${"x".repeat(4095)}; Path=/; Secure; Comment=${"y".repeat(900)}`],
    HOST,
    `a=${"x".repeat(4095)}`,
  ],
  ["not of more than 5 KiB", HOST, [`a=1; Comment=${"x".repeat(5120)}`], HOST, ""],
  [
    "not with a Domain beyond ASCII, valid or not",
    "http://caf\u00e9.example/",
    ["a=1; Domain=caf\u00e9.example", "b=2; Domain=\u00e9%"],
    "http://caf\u00e9.example/",
    "",
  ],
  ["not when it is empty", HOST, ["", "=", ";;", "=; Path=/"], HOST, ""],
])("sends a cookie %s", (_where, from, setCookies, to, expected) => {
  expect(sent(from, setCookies, to)).toBe(expected);
});

it.each(["https://example.com/a/b", "https://example.com/a%20b/c"])(
  "names the cookies that it sets for the request to %s, and those that it deletes",
  (url) => {
    const texts = ["a=1", "b=; Max-Age=0", "c=1; Path=/c", "d=; Max-Age=0; Path=/d"];
    const headers = texts.map((value) => ({ key: "Set-Cookie", value }));
    expect(createCookies(systemClock).store(new URL(url), headers)).toEqual({
      set: new Set(["a", "c"]),
      deleted: new Set(["b"]),
    });
  },
);

const LOGIN = "http://example.com/login";

it.each<[string, string, string[], string]>([
  ["in its place", LOGIN, ["a=2; Path=/login"], "a=1"],
  ["below its path", LOGIN, ["a=2; Path=/login/en"], "a=1"],
  ["for a host below", "http://x.example.com/login/", ["a=2"], "a=1; b=1"],
  [
    "for a Domain above",
    "http://x.example.com/login/",
    ["b=3; Path=/login; Domain=example.com"],
    "a=1; b=1",
  ],
  ["by deleting it", LOGIN, ["a=; Path=/login; Max-Age=0"], "a=1"],
  ["in its place, from another path", "http://example.com/", ["a=2; Path=/login"], "a=1"],
  ["not above its path", LOGIN, ["a=2; Path=/"], "a=1; a=2"],
  ["not on another path", LOGIN, ["a=2; Path=/log"], "a=1"],
  ["not under another name", LOGIN, ["A=2"], "a=1; A=2"],
  ["not over https", "https://example.com/login", ["a=2; Path=/login"], "a=2"],
])(
  "keeps a Secure cookie that one set over http would hide %s",
  (_how, from, setCookies, expected) => {
    const cookies = createCookies(systemClock);
    store(cookies, new URL("https://example.com/login"), [
      "a=1; Path=/login; Domain=example.com; Secure",
    ]);
    store(cookies, new URL("https://x.example.com/login"), ["b=1; Path=/login; Secure"]);
    store(cookies, new URL(from), setCookies);
    const to = new URL("/login/en", from);
    to.protocol = "https:";
    expect(cookies.headerFor(to)).toBe(expected);
  },
);

it("keeps a Secure cookie of a host below that one set over http would hide", () => {
  const cookies = createCookies(systemClock);
  const below = new URL("https://x.example.com/");
  store(cookies, below, ["a=1; Secure"]);
  store(cookies, new URL("http://example.com/"), [
    "a=2; Domain=example.com",
    "b=3; Domain=example.com",
  ]);
  expect(cookies.headerFor(below)).toBe("a=1; b=3");
});

// Far from any real machine's clock.
const NOW = Date.UTC(2001, 0, 1);
const at = (seconds: number): string => new Date(NOW + seconds * 1000).toUTCString();

it.each([
  ["Expires", `a=1; Expires=${at(60)}`],
  ["Max-Age", "a=1; Max-Age=60"],
  ["Max-Age before Expires", `a=1; Max-Age=60; Expires=${at(10)}`],
])(
  "keeps a cookie for as long as its %s says, used or not, whatever the clock is set to",
  async (_attribute, text) => {
    const clock = createManualClock(NOW);
    const cookies = createCookies(clock);
    const url = new URL(HOST);
    store(cookies, url, [text]);
    await clock.advance(50_000);
    expect(cookies.headerFor(url)).toBe("a=1");
    await clock.setNow(NOW + 600_000);
    await clock.advance(9999);
    expect(cookies.headerFor(url)).toBe("a=1");
    await clock.setNow(NOW);
    await clock.advance(1);
    expect(cookies.headerFor(url)).toBe("");
  },
);

it("ignores a cookie that has expired by its clock", () => {
  const cookies = createCookies(createManualClock(NOW));
  store(cookies, new URL(HOST), [`a=1; Expires=${at(-1)}`]);
  expect(cookies.headerFor(new URL(HOST))).toBe("");
});

it("keeps at most 50 cookies of a response, and sends at most 16 KiB", () => {
  const many = Array.from({ length: 60 }, (_, n) => `c${n}=${"x".repeat(1000)}`);
  const pairs = sent(HOST, many, HOST).split("; ");
  expect(pairs).toHaveLength(16);
  const small = many.map((text) => text.slice(0, 8));
  expect(sent(HOST, small, HOST).split("; ")).toHaveLength(50);
});

it("updates and deletes cookies when full, and a deletion makes room", () => {
  const url = new URL(HOST);
  const cookies = createCookies(systemClock);
  const named = (from: number, suffix: string): string[] =>
    Array.from({ length: 50 }, (_, n) => `c${from + n}=${suffix}`);
  for (let at = 0; at < 1000; at += 50) store(cookies, url, named(at, "1"));
  for (const text of ["new=1", "c0=2", "c1=; Max-Age=0"]) store(cookies, url, [text]);
  const before = cookies.headerFor(url).split("; ");
  expect(before).not.toContain("new=1");
  expect(before).toContain("c0=2");
  expect(before.some((pair) => pair.startsWith("c1="))).toBe(false);
  expect(before).toHaveLength(999);
  store(cookies, url, ["new=1", "one more=1"]);
  const after = cookies.headerFor(url).split("; ");
  expect(after).toContain("new=1");
  expect(after).toHaveLength(1000);
});

it("frees the room and the names of expired cookies", async () => {
  const clock = createManualClock(NOW);
  const cookies = createCookies(clock);
  const url = new URL(HOST);
  const named = (from: number): string[] =>
    Array.from({ length: 50 }, (_, n) => `c${from + n}=1; Max-Age=9; Secure`);
  for (let from = 0; from < 1000; from += 50) store(cookies, url, named(from));
  await clock.advance(9000);
  store(cookies, new URL("http://www.shop.example.com/a/b"), ["c0=2", "d=1"]);
  expect(cookies.headerFor(url)).toBe("c0=2; d=1");
});

it.each([
  [["a=given; c=given"], "a=given; c=given; b=kept"],
  [["c=given", "b=given"], "c=given; b=given; a=kept"],
  [["c=given;"], "c=given; a=kept; b=kept"],
  [[" ; "], "a=kept; b=kept"],
])("sends the cookies of the definition, %j, first, in one header", (given, expected) => {
  const cookies = createCookies(systemClock);
  store(cookies, new URL(HOST), ["a=kept; Path=/", "b=kept; Path=/"]);
  const request = requestOf(HOST, {
    headers: given.map((value) => ({ key: "cookie", value })),
  });
  const { headers } = withCookies(request, cookies);
  const lines = headers.filter(({ key }) => key.toLowerCase() === "cookie");
  expect(lines).toEqual([{ key: "Cookie", value: expected }]);
});
