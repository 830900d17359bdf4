// The URLs that a call may have, and the host in each.
import { describe, expect, it } from "vitest";
import { callResource } from "../../src/model/call.ts";
import { hostOf } from "../../src/model/url.ts";
import { show } from "../../src/model/validate.ts";

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
    ["a variable with a colon", "http://{{a:b}}:80/x", "{{a:b}}"],
    ["encoded braces", "http://%7B%7Bhost%7D%7D/", "%7B%7Bhost%7D%7D"],
    ["a variable before the path", "{{BASE}}/x?a=b", "{{BASE}}"],
    ["a variable and nothing else", "%%URL%%", "%%URL%%"],
    ["a variable before a port", "{{ base }}:8080/x", "{{ base }}"],
    ["a variable before the rest of the host", "__BASE__.Example.test/", "__BASE__.Example.test"],
    ["a variable as scheme", "{{scheme}}://Example.test:8080/x", "example.test"],
    ["variables as scheme and host", "%%S%%://%%H%%/", "%%H%%"],
    ["a variable with a slash in its name", "http://{{a/b}}/x", "{{a/b}}"],
    ["a variable with a question mark", "http://x.{{a?b}}:80/{{c?d}}", "x.{{a?b}}"],
    ["encoded braces around a hash", "{{scheme}}://%7B%7Ba#b%7D%7D/x", "%7B%7Ba#b%7D%7D"],
    ["the longest", `http://${"h".repeat(500)}:80/`, "h".repeat(500)],
    ["encoded braces around encoded braces", "http://h/%7B%7B%7B%7Ba%7D%7D%7D%7D", "h"],
  ])("is found: %s", (_, url, host) => {
    expect(hostOf(url)).toBe(host);
  });

  const NO_SCHEME = ": it must begin with http://, https:// or a variable";
  const USER =
    ": it has a user or password before its host; put them into an Authentication Setting";
  const CHARACTER = ": it has a line break or another character that a URL cannot have";
  const SPACE = ": it has a space; write %20";
  const PORTS = ": it has more than one port";
  const portFault = (port: string) => `: its port '${port}' is not from 1 to 65535`;

  it.each([
    ["no URL", "example.test", NO_SCHEME],
    ["without a scheme", "//example.test/", NO_SCHEME],
    ["a host and its port only", "localhost:8080/health", NO_SCHEME],
    ["another scheme", "ftp://example.test/", ""],
    ["a scheme that runs code", "javascript:alert(1)", ""],
    ["a variable within the scheme", "http{{s}}://example.test/", NO_SCHEME],
    ["no host", "http://", ": it has no host"],
    ["no host, but a path", "http:///path", ": it has no host"],
    ["no host after a variable", "{{scheme}}:///path", ": it has no host"],
    ["one slash", "http:/example.test", NO_SCHEME],
    ["credentials", "https://user:secret@example.test/", USER],
    ["a user", "https://user@example.test/", USER],
    ["credentials before a variable", "http://u:p@{{host}}/", USER],
    ["credentials before a system variable", "http://u:p@%%HOST%%/", USER],
    ["a variable as credentials", "{{BASE}}@example.test/", USER],
    ["port 0", "http://example.test:0/", portFault("0")],
    ["a port beyond 65535", "http://example.test:65536/", portFault("65536")],
    ["a port beyond 65535 after a variable", "http://{{host}}:65536/", portFault("65536")],
    ["a port of letters", "http://example.test:abc/", portFault("abc")],
    ["two ports", "http://example.test:80:81/", PORTS],
    ["two ports of an IPv6 address", "http://[::1]:80:81/", PORTS],
    ["variables as two ports", "http://{{host}}:{{a}}:{{b}}/", PORTS],
    ["a space in the host", "http://exa mple.test/", SPACE],
    ["a space in the path", "http://example.test/a b", SPACE],
    ["a space around it", " http://example.test/", SPACE],
    ["a line break", "http://example.test/\r\nX: y", CHARACTER],
    ["a NUL", "http://example.test/\0", CHARACTER],
    [
      "a backslash in the host",
      "http://example.test\\.other.test/",
      ": it has a backslash in its host",
    ],
    ["an address out of range", "http://1.2.3.256/", ": its host '1.2.3.256' is not valid"],
    ["a longer host", `http://${"h".repeat(501)}/`, ": its host is longer than 500 characters"],
    ["half an IPv6 address", "http://[::1/", ": its host '[:' is not valid"],
  ])("is not found, and the error says why: %s", (_, url, why) => {
    expect(hostOf(url)).toBeUndefined();
    expect(() =>
      callResource.create(
        { meta: { name: "n" }, request: { method: "GET", url } },
        { id: "i", owner: "o", now: 0 },
      ),
    ).toThrow(
      expect.objectContaining({
        message: `request.url: ${show(url)} is not a valid http or https URL${why}`,
      }),
    );
  });
});

describe("the headers of a call", () => {
  const header = (key: string, value = "v") => ({ key, value });
  const create = (...headers: readonly { key: string; value: string }[]) =>
    callResource.create(
      { meta: { name: "n" }, request: { method: "GET", url: "http://h/", headers } },
      { id: "i", owner: "o", now: 0 },
    );

  it.each([
    [
      "a name that is no token",
      [header("A"), header("X Evil")],
      "[1].key: 'X Evil' is not a valid header name",
    ],
    ["an empty name", [header("")], "[0].key: '' is not a valid header name"],
    ["a name with a colon", [header("X:")], "[0].key: 'X:' is not a valid header name"],
    ["a letter beyond ASCII", [header("Ünicode")], "[0].key: 'Ünicode' is not a valid header name"],
    ["half a variable", [header("X-{{a}")], "[0].key: 'X-{{a}' is not a valid header name"],
    ...["Content-Length", "transfer-encoding", "Connection", "Upgrade", "TE", "Trailer"].map(
      (name): [string, { key: string; value: string }[], string] => [
        name,
        [header(name)],
        `[0].key: '${name}' is set by the agent and cannot be overridden`,
      ],
    ),
    [
      "a line break",
      [header("A", "a\r\nX-Evil: {{b}}")],
      "[0].value: 'a\r\nX-Evil: {{b}}' has a line break, NUL or another control character, which a header cannot have",
    ],
    ["two hosts", [header("Host"), header("host")], ": 'Host' is given more than once"],
  ])("are refused with %s", (_, headers, message) => {
    expect(() => create(...headers)).toThrow(
      expect.objectContaining({ message: `request.headers${message}` }),
    );
  });

  it("may have variables, a tab, and any other character in their values, and one Host", () => {
    const headers = [
      header("X-{{ a b }}-%%C%%", "{{x}}\t€"),
      header("{{name}}", ""),
      header("Host", "virtual.test"),
    ];
    expect(create(...headers).request.headers).toEqual(headers);
  });
});

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
