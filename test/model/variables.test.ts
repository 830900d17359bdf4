import { assert, property, string } from "fast-check";
import { describe, expect, it } from "vitest";
import { VariableFault } from "../../src/model/encode-value.ts";
import type { Landing } from "../../src/model/encode-value.ts";
import {
  MAX_EXPANDED_LENGTH,
  createExpansion,
  environmentNames,
  landingOfBody,
  scopeOf,
} from "../../src/model/variables.ts";
import type { CallFacts } from "../../src/model/variables.ts";

const FACTS: CallFacts = {
  now: Date.UTC(2026, 6, 9, 19, 29, 43, 492),
  guid: () => "0b2c9a3e-0000-4000-8000-000000000000",
  result_id: "result-1",
  run_id: "run-1",
  call_id: "call-1",
  call_name: "A call",
  location_id: "here",
  workflow_id: null,
  workflow_name: null,
  client_id: "client-1",
  client_secret: "hush-hush",
  access_token: null,
};

const GIVEN = {
  context: {
    CITY: "Bad Ems/Lahn",
    NUMBER: 7,
    OBJECT: { a: [1] },
    NOTHING: null,
    NESTED: "%%CITY%% {{host}}",
    RESULT_ID: "forged",
    WORKFLOW_ID: "forged",
    ACCESS_TOKEN: "forged",
    DATE: "%%DATE%%",
    LONG: "x".repeat(200),
    TIME: "%%DATE%%",
    SCHEME: "https",
    LINK: "https://b.example/a%20b/?page=2",
  },
  environment: {
    base: "http://b.example:8080/v1/",
    origin: "HTTPS://b.example",
    noScheme: "b.example",
    credentials: "http://u:p@b.example/",
    fragment: "http://b.example/#a",
    split: "http://b.example/ x",
    file: "file:///etc/passwd",
    host: "api.example:8080",
    quoted: 'a"b\\\n',
    both: "of both",
    ends: "a]]",
  },
  customVariables: { custom: "own", both: "not seen" },
};

const expand = (text: string, landing: Landing = "text") => {
  const expansion = createExpansion(scopeOf(FACTS, GIVEN));
  const { text: expanded } = expansion.expand(text, landing);
  return {
    expanded,
    secrets: [...expansion.secrets],
    unknown: [...expansion.unknown],
  };
};

describe("system and context values", () => {
  it.each([
    ["%%DATETIME%%", "2026-07-09T19:29:43.492000"],
    ["%%UNIXTIME%%", "1783625383"],
    ["%%GUID%%", FACTS.guid()],
    ["%%RESULT_ID%%/%%CALL_RESULT_ID%%", "result-1/result-1"],
    ["%%WORKFLOW_RESULT_ID%%/%%TEST_RUN_RESULT_ID%%", "run-1/run-1"],
    ["%%CALL_ID%% %%CALL_NAME%% %%LOCATION_ID%%", "call-1 A call here"],
    ["%%CLIENT_ID%%:%%CLIENT_SECRET%%", "client-1:hush-hush"],
    ["%%city%%", "Bad Ems/Lahn"],
    ["%%NUMBER%%|%%OBJECT%%|%%NOTHING%%", '7|{"a":[1]}|'],
    ["100%%%NUMBER%%%", "100%7%"],
    ["%%NESTED%%", "%%CITY%% {{host}}"],
    ["__CITY__", "__CITY__"],
  ])("%s is %s", (text, expected) => {
    expect(expand(text).expanded).toBe(expected);
  });

  it.each([
    ["a context never supplies an id", "%%RESULT_ID%%", "result-1"],
    ["nor one that the run has not", "%%WORKFLOW_ID%%", "%%WORKFLOW_ID%%"],
    ["nor a credential", "%%ACCESS_TOKEN%%", "%%ACCESS_TOKEN%%"],
    ["a context wins over the clock", "%%TIME%%", "%%DATE%%"],
    ["a value that asks for itself does not", "%%DATE%%", "2026-07-09"],
  ])("%s", (_, text, expected) => {
    expect(expand(text).expanded).toBe(expected);
  });
});

describe("environment values", () => {
  it.each([
    ["{{host}}", "api.example:8080"],
    ["{{ host }}", "api.example:8080"],
    ["%7B%7Bhost%7D%7D", "api.example:8080"],
    ["%7b%7b%20host%20%7d%7d", "api.example:8080"],
    ["{{custom}} {{both}}", "own of both"],
    ["%%HOST%% {{CITY}} {{Host}}", "%%HOST%% {{CITY}} {{Host}}"],
    ["{ {host} } {{}}", "{ {host} } {{}}"],
    ["%%constructor%% {{constructor}}", "%%constructor%% {{constructor}}"],
  ])("%s is %s", (text, expected) => {
    expect(expand(text).expanded).toBe(expected);
  });

  it("are asked for by name", () => {
    const texts = ["{{a}}%%B%%", "%7B%7B c%20d%7D%7D", "{{a}} {{ e }}"];
    expect(environmentNames(texts)).toEqual(["a", "c d", "e"]);
  });
});

it("a host that values make too long is refused", () => {
  const text = `http://${"%%LONG%%".repeat(1000)}`;
  expect(() => expand(text, "url")).toThrow("the host of the URL is too long");
});

it("a text of encoded braces is read once", () => {
  expect(environmentNames(["%7B".repeat(200_000)])).toEqual([]);
  expect(environmentNames(["%7B%7B%7Ba%7D%7D"])).toEqual(["a"]);
});

it("unknown names stay as written and are named, once", () => {
  expect(expand("%%NO%% {{no}} %%NO%% %%CITY%%")).toMatchObject({
    expanded: "%%NO%% {{no}} %%NO%% Bad Ems/Lahn",
    unknown: ["%%NO%%", "{{no}}"],
  });
  expect(expand("http://a.example/__init__", "url")).toMatchObject({
    expanded: "http://a.example/__init__",
    unknown: [],
  });
});

it("counts environment values and credentials as secrets, and no others", () => {
  expect(expand("%%CITY%% {{host}} %%CLIENT_SECRET%% {{custom}}").secrets).toEqual([
    "api.example:8080",
    "hush-hush",
    "own",
  ]);
});

it.each([
  ["%%CITY%%", "text", false],
  ["plain", "text", false],
  ["{{unknown}} %%NO%%", "text", false],
  ["%%CLIENT_ID%%", "text", true],
  ["<{{short}}>", "xml", true],
  ["a={{short}}&b=%%CITY%%", "form", true],
  ['{"a":{{short}}}', "json", true],
  ["{{nothing}}", "text", false],
] as const)("%s in %s reports whether a secret was filled in: %s", (text, landing, isSecret) => {
  const environment = { short: "&", nothing: "" };
  const expansion = createExpansion(scopeOf(FACTS, { ...GIVEN, environment }));
  expect(expansion.expand(text, landing).isSecret).toBe(isSecret);
});

describe("in a URL", () => {
  it.each([
    ["http://{{host}}/%%CITY%%", "http://api.example:8080/Bad%20Ems%2FLahn"],
    ["http://a.example/?q=__CITY__&n=%%NUMBER%%", "http://a.example/?q=Bad%20Ems%2FLahn&n=7"],
    ["http://a.example?q={{quoted}}", "http://a.example?q=a%22b%5C%0A"],
    ["http://a.example/__CALL_ID__/__NO__", "http://a.example/call-1/__NO__"],
    ["http://a.example/%7B%7Bcustom%7D%7D", "http://a.example/own"],
    ["http://%%CALL_ID%%.a.example/", "http://call-1.a.example/"],
    ["{{base}}%%CITY%%", "http://b.example:8080/v1/Bad%20Ems%2FLahn"],
    ["{{origin}}:8080/%%CITY%%", "HTTPS://b.example:8080/Bad%20Ems%2FLahn"],
    ["__LINK__", "https://b.example/a%20b/?page=2"],
    ["%%SCHEME%%://{{host}}/%%CITY%%", "https://api.example:8080/Bad%20Ems%2FLahn"],
  ])("%s is %s", (url, expected) => {
    expect(expand(url, "url").expanded).toBe(expected);
  });

  it.each(["http://%%CITY%%/", "http://{{quoted}}.example/", "http://a%%NESTED%%"])(
    "%s is refused, since the value would end the host",
    (url) => {
      expect(() => expand(url, "url")).toThrow(VariableFault);
    },
  );
});

it.each([
  "{{noScheme}}/",
  "{{credentials}}",
  "{{fragment}}x",
  "{{split}}",
  "{{file}}",
  "%%NOTHING%%/x",
])("%s is refused, since the value begins no http or https URL", (url) => {
  expect(() => expand(url, "url")).toThrow("does not begin an http or https URL");
});

it("a value behind the one that begins a URL cannot change its host", () => {
  expect(() => expand("{{origin}}%%CITY%%", "url")).toThrow("the value of %%CITY%% is not a host");
  expect(() => expand("{{gone}}/x", "url")).toThrow("the host of the URL is incomplete");
});

describe("in a body", () => {
  it.each<[string, Landing, string, string]>([
    ["escaped in a JSON string", "json", '{"a":"x{{quoted}}"}', '{"a":"xa\\"b\\\\\\n"}'],
    [
      "as they are outside of one, where they are JSON",
      "json",
      '{"a":%%NUMBER%%,"b":%%OBJECT%%}',
      '{"a":7,"b":{"a":[1]}}',
    ],
    [
      "as a string outside of one, where they are not",
      "json",
      '{"a":%%CITY%%}',
      '{"a":"Bad Ems/Lahn"}',
    ],
    ["beside escaped quotes", "json", '["\\"{{quoted}}"]', '["\\"a\\"b\\\\\\n"]'],
    ["encoded in a form", "form", "a=%%CITY%%&b={{quoted}}", "a=Bad+Ems%2FLahn&b=a%22b%5C%0A"],
    ["escaped in XML", "xml", '<a b="{{quoted}}"/>', '<a b="a&quot;b\\\n"/>'],
    [
      "as they are in a CDATA section",
      "xml",
      "<a><![CDATA[<{{quoted}}&]]>{{quoted}}</a>",
      '<a><![CDATA[<a"b\\\n&]]>a&quot;b\\\n</a>',
    ],
    [
      "escaped between CDATA sections, where they could end one",
      "xml",
      "<![CDATA[x{{ends}}>]]>",
      "<![CDATA[x]]>a]]<![CDATA[>]]>",
    ],
    [
      "escaped after a comment that names a CDATA section",
      "xml",
      "<!-- <![CDATA[ {{quoted}} --><a>{{quoted}}</a>",
      "<!-- <![CDATA[ a&quot;b\\\n --><a>a&quot;b\\\n</a>",
    ],
    [
      "as they are in a CDATA section that names a comment",
      "xml",
      "<![CDATA[<!-- {{quoted}}]]><a>{{quoted}}</a>",
      '<![CDATA[<!-- a"b\\\n]]><a>a&quot;b\\\n</a>',
    ],
    [
      "null outside of a JSON string, and nothing elsewhere",
      "json",
      '{"a":%%NOTHING%%,"b":"%%NOTHING%%"}',
      '{"a":null,"b":""}',
    ],
    ["as they are elsewhere", "text", "{{quoted}}", 'a"b\\\n'],
  ])("values are %s", (_, landing, body, expected) => {
    expect(expand(body, landing).expanded).toBe(expected);
  });

  it.each<[string, string | undefined, Landing]>([
    ["{}", "application/json; charset=utf-8", "json"],
    ["{}", "application/problem+json", "json"],
    ["{}", "application/x-ndjson", "json"],
    ["{}", "application/ndjson", "json"],
    ["{}", "application/jsonl", "json"],
    ["{}", "application/json-seq", "json"],
    ["{}", "application/geo+json-seq", "json"],
    ["{}", "application/x-ldjson", "json"],
    ["{}", "application/x-amz-json-1.0", "json"],
    ["{}", "application/x-amz-json-1.1", "json"],
    ["{}", "application/json+protobuf", "json"],
    ["{}", "application/json5x", "text"],
    ["a=b", "Application/X-WWW-Form-Urlencoded", "form"],
    ["<a/>", "text/xml", "xml"],
    ["{}", "text/plain", "text"],
    ['{"a":%%B%%,"c":"{{d}}"}', undefined, "json"],
    [' ["{{d}}"]', undefined, "json"],
    ['"{{d}}"', "", "json"],
    ["a=%%B%%", undefined, "text"],
    ["{{d}}", undefined, "text"],
    [" %%B%%{{d}}", "", "text"],
    ["2{{d}}", undefined, "text"],
    ["{{{d}}}", undefined, "text"],
  ])("%s of type %s is %s", (body, type, landing) => {
    expect(landingOfBody(body, type)).toBe(landing);
  });

  it("any value leaves the JSON around it intact", () => {
    assert(
      property(string({ unit: "grapheme" }), (value) => {
        const scope = scopeOf(FACTS, { ...GIVEN, environment: { value } });
        const fill = (text: string, landing: Landing) =>
          createExpansion(scope).expand(text, landing).text;
        const body = fill('{"in":"<{{value}}>","bare":{{value}},"x":1}', "json");
        expect(JSON.parse(body)).toMatchObject({ in: `<${value}>`, x: 1 });
      }),
    );
  });
});

describe("a value that could make a dot segment in a URL", () => {
  const fill = (url: string, value: string) =>
    createExpansion(
      scopeOf(FACTS, {
        ...GIVEN,
        environment: { value, empty: "", host: "a.example" },
      }),
    ).expand(url, "url").text;

  it.each([
    ["http://a.example/a/{{value}}/b", "."],
    ["http://a.example/a/{{value}}/b", ".."],
    ["http://a.example/a/{{value}}", ".."],
    ["http://a.example/{{value}}?q", ".."],
    ["http://a.example/{{value}}#q", ".."],
    ["http://a.example/{{value}}\\b", ".."],
    ["http://a.example\\a\\{{value}}\\b", ".."],
    ["http://a.example/{{value}}\t/b", ".."],
    ["http://a.example/{{value}} ", ".."],
    ["http://a.example/.{{value}}/b", "."],
    ["http://a.example/%2E{{value}}/b", "."],
    ["http://a.example/{{value}}{{value}}/b", "."],
    ["http://{{host}}/{{value}}", ".."],
  ])("is refused: %j with %j", (url, value) => {
    expect(() => fill(url, value)).toThrow("the value of {{value}} makes a dot segment");
  });

  it.each([
    ["http://a.example/?path={{value}}", "..", "http://a.example/?path=.."],
    ["http://a.example?a/{{value}}/", "..", "http://a.example?a/../"],
    ["http://a.example/#/{{value}}/", "..", "http://a.example/#/../"],
    ["http://a.example/a{{value}}/", "..", "http://a.example/a../"],
    ["http://a.example/{{value}}a/", "..", "http://a.example/..a/"],
    ["http://a.example/.{{value}}/", "..", "http://a.example/.../"],
    ["http://a.example/../{{value}}", "x", "http://a.example/../x"],
    ["http://{{value}}/../x", "a", "http://a/../x"],
    ["http://a.example/.{{empty}}./x", "", "http://a.example/../x"],
  ])("is filled in where it makes none: %j with %j", (url, value, expected) => {
    expect(fill(url, value)).toBe(expected);
  });
});

it.each([
  ["in one text", ["{{value}}".repeat(100_000)]],
  ["in many texts", Array<string>(5).fill("{{value}}")],
])("a call does not grow without bounds, %s", (_, texts) => {
  const value = "x".repeat(1024 * 1024);
  const scope = scopeOf(FACTS, { ...GIVEN, environment: { value } });
  const expansion = createExpansion(scope);
  expect(expansion.expand("{{value}}", "text").text).toBe(value);
  expect(() => {
    for (const text of texts) expansion.expand(text, "text");
  }).toThrow(`longer than ${MAX_EXPANDED_LENGTH} characters`);
});
