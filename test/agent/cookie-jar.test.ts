import { expect, it } from "vitest";
import { createCookies, withCookies } from "../../src/agent/cookie-jar.ts";
import { requestOf } from "./calling.ts";

/** What is sent to `to` after `from` set the cookies. */
function sent(from: string, setCookies: readonly string[], to: string): string {
  const cookies = createCookies();
  cookies.store(new URL(from), setCookies);
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
  [
    "below its default path",
    HOST,
    ["a=1"],
    "https://www.shop.example.com/a/",
    "a=1",
  ],
  [
    "not above its default path",
    HOST,
    ["a=1"],
    "https://www.shop.example.com/",
    "",
  ],
  [
    "below its Path",
    HOST,
    ["a=1; Path=/z"],
    "https://www.shop.example.com/z/y",
    "a=1",
  ],
  [
    "not to a path that its Path only begins",
    HOST,
    ["a=1; Path=/z"],
    "https://www.shop.example.com/zy",
    "",
  ],
  [
    "not over http when it is Secure",
    HOST,
    ["a=1; Secure"],
    "http://www.shop.example.com/a/b",
    "",
  ],
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
  ["while it lives", HOST, ["a=1; Max-Age=100"], HOST, "a=1"],
  ["no more with Max-Age 0", HOST, ["a=1", "a=2; Max-Age=0"], HOST, ""],
  [
    "no more when it expired",
    HOST,
    ["a=1", "a=2; Expires=Thu, 01 Jan 2015 00:00:00 GMT"],
    HOST,
    "",
  ],
  [
    "by Max-Age where it has both ends",
    HOST,
    ["a=1; Expires=Thu, 01 Jan 2015 00:00:00 GMT; Max-Age=100"],
    HOST,
    "a=1",
  ],
  [
    "as __Host- with what that asks for",
    HOST,
    ["__Host-a=1; Secure; Path=/"],
    HOST,
    "__Host-a=1",
  ],
  [
    "not as __Host- without Path=/",
    HOST,
    ["__Host-a=1; Secure; Path=/a"],
    HOST,
    "",
  ],
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
  ["not as __SECURE- without Secure", HOST, ["__SECURE-a=1"], HOST, ""],
  ["not as __Host- in place of a name", HOST, ["=__Host-a; Path=/"], HOST, ""],
  ["that has no name", HOST, ["a", "=b"], HOST, "b"],
  [
    "of a host whose name ends in a dot",
    "https://example.com./",
    ["a=1", "b=2; Domain=example.com"],
    "https://example.com./",
    "a=1; b=2",
  ],
  [
    "nowhere with a Domain that ends in a dot",
    HOST,
    ["a=1; Domain=shop.example.com."],
    HOST,
    "",
  ],
  ["whatever its SameSite", HOST, ["a=1; SameSite=Strict"], HOST, "a=1"],
  [
    "not with SameSite=None without Secure",
    HOST,
    ["a=1; SameSite=None"],
    HOST,
    "",
  ],
  ["as it was set last", HOST, ["a=1", "b=2", "a=3"], HOST, "a=3; b=2"],
  [
    "of 4096 bytes, whatever its attributes",
    HOST,
    [`a=${"x".repeat(4095)}; Path=/; Secure; Comment=${"y".repeat(1000)}`],
    HOST,
    `a=${"x".repeat(4095)}`,
  ],
  ["not of 4097 bytes", HOST, [`a=${"x".repeat(4096)}`], HOST, ""],
  [
    "without an attribute of more than 1024 bytes",
    HOST,
    [`a=1; Path=/${"x".repeat(1024)}; Secure`],
    HOST,
    "a=1",
  ],
  ["not when it is none", HOST, ["", "=", ";;", "=; Path=/"], HOST, ""],
])("sends a cookie %s", (_where, from, setCookies, to, expected) => {
  expect(sent(from, setCookies, to)).toBe(expected);
});

it("takes no more than a response and a request have room for", () => {
  const many = Array.from(
    { length: 60 },
    (_, n) => `c${n}=${"x".repeat(1000)}`,
  );
  const pairs = sent(HOST, many, HOST).split("; ");
  expect(pairs).toHaveLength(16);
  const small = many.map((text) => text.slice(0, 8));
  expect(sent(HOST, small, HOST).split("; ")).toHaveLength(50);
});

it("changes and deletes what it has, and makes room by that, however many there were", () => {
  const url = new URL(HOST);
  const cookies = createCookies();
  const named = (from: number, suffix: string): string[] =>
    Array.from({ length: 50 }, (_, n) => `c${from + n}=${suffix}`);
  for (let at = 0; at < 1000; at += 50) cookies.store(url, named(at, "1"));
  for (const text of ["new=1", "c0=2", "c1=; Max-Age=0"])
    cookies.store(url, [text]);
  const before = cookies.headerFor(url).split("; ");
  expect(before).not.toContain("new=1");
  expect(before).toContain("c0=2");
  expect(before.some((pair) => pair.startsWith("c1="))).toBe(false);
  expect(before).toHaveLength(999);
  cookies.store(url, ["new=1", "one more=1"]);
  const after = cookies.headerFor(url).split("; ");
  expect(after).toContain("new=1");
  expect(after).toHaveLength(1000);
});

it("lets the cookies of the definition come first, in one header", () => {
  const cookies = createCookies();
  cookies.store(new URL(HOST), ["a=kept; Path=/", "b=kept; Path=/"]);
  const request = requestOf(HOST, {
    headers: [{ key: "cookie", value: "a=given; c=given" }],
  });
  const { headers } = withCookies(request, cookies);
  const lines = headers.filter(({ key }) => key.toLowerCase() === "cookie");
  expect(lines).toEqual([{ key: "Cookie", value: "a=given; c=given; b=kept" }]);
});
