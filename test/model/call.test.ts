// What is a URL to call, and which host is in it.
import { describe, expect, it } from "vitest";
import { callResource, hostOf } from "../../src/model/call.ts";

describe("the host of a URL", () => {
  it.each([
    ["plain", "http://example.test", "example.test"],
    ["without its port", "https://example.test:8443/a", "example.test"],
    ["in lower case", "HTTPS://EXAMPLE.test/", "example.test"],
    ["an IPv4 address", "http://127.0.0.1:80/", "127.0.0.1"],
    ["an IPv4 address in another spelling", "http://0x7f.1/", "127.0.0.1"],
    ["an IPv6 address", "http://[::1]:80/", "[::1]"],
    ["a Unicode name, in its ASCII form", "http://bücher.example/", "xn--bcher-kva.example"],
    ["the highest port", "http://h:65535/", "h"],
    ["a variable as path", "http://h/%%PATH%%?a={{b}}#__C__", "h"],
    ["a variable with spaces in a path", "http://h/{{ path }}", "h"],
    ["a variable as host", "http://{{host}}/x", "{{host}}"],
    ["a variable with spaces as host", "http://{{ host }}/x", "{{ host }}"],
    ["a system variable as host", "http://%%HOST%%:8080/x", "%%HOST%%"],
    ["a variable in underscores as host", "http://__HOST__/x", "__HOST__"],
    ["a variable as part of the host", "http://a.{{b}}.test/", "a.{{b}}.test"],
    ["a variable as port", "http://h:{{port}}/x", "h"],
    ["encoded braces", "http://%7B%7Bhost%7D%7D/", "%7B%7Bhost%7D%7D"],
    ["encoded braces around encoded braces", "http://h/%7B%7B%7B%7Ba%7D%7D%7D%7D", "h"],
  ])("is found: %s", (_, url, host) => {
    expect(hostOf(url)).toBe(host);
  });

  it.each([
    ["no URL", "example.test"],
    ["without a scheme", "//example.test/"],
    ["another scheme", "ftp://example.test/"],
    ["a scheme that runs code", "javascript:alert(1)"],
    ["no host", "http://"],
    ["no host, but a path", "http:///path"],
    ["one slash", "http:/example.test"],
    ["credentials", "https://user:secret@example.test/"],
    ["a user", "https://user@example.test/"],
    ["credentials before a variable", "http://u:p@{{host}}/"],
    ["credentials before a system variable", "http://u:p@%%HOST%%/"],
    ["port 0", "http://example.test:0/"],
    ["a port beyond 65535", "http://example.test:65536/"],
    ["a port beyond 65535 after a variable", "http://{{host}}:65536/"],
    ["a port of letters", "http://example.test:abc/"],
    ["a space in the host", "http://exa mple.test/"],
    ["a space in the path", "http://example.test/a b"],
    ["a space around it", " http://example.test/"],
    ["a line break", "http://example.test/\r\nX: y"],
    ["a NUL", "http://example.test/\0"],
    ["a backslash in the host", "http://example.test\\@other.test/"],
    ["an address out of range", "http://1.2.3.256/"],
    ["half an IPv6 address", "http://[::1/"],
  ])("is not there: %s", (_, url) => {
    expect(hostOf(url)).toBeUndefined();
    expect(() =>
      callResource.create(
        { meta: { name: "n" }, request: { method: "GET", url } },
        { id: "i", owner: "o", now: 0 },
      ),
    ).toThrow("is not a valid http or https URL");
  });
});

it("is looked for in time that grows with the length of the URL", () => {
  const shortest = (text: string): number =>
    Math.min(...Array.from({ length: 5 }, () => durationOf(() => hostOf(text))));
  const [opening, plain] = ["%7B", "abc"].map((piece) => `http://h/${piece.repeat(40_000)}`);
  expect(shortest(opening ?? "")).toBeLessThan(100 * shortest(plain ?? "") + 10);
});

function durationOf(work: () => unknown): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

describe("a call in lists", () => {
  it("is found by its domain and its authentication", () => {
    const call = callResource.create(
      {
        meta: { name: "n" },
        access: { settings: true, org: true },
        request: {
          method: "GET",
          url: "http://h.test/",
          auth_id: "a",
          token_id: "t",
        },
      },
      { id: "i", owner: "o", now: 0 },
    );
    expect(callResource.filters(call)).toEqual({
      domain: "h.test",
      auth_id: "a",
      token_id: "t",
    });
    expect(callResource.sharing(call)).toEqual({ org: true, community: true });
  });
});
