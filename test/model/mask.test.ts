import { assert, constantFrom, property, string } from "fast-check";
import { describe, expect, it } from "vitest";
import type { Landing } from "../../src/model/encode-value.ts";
import { createMask, MASK } from "../../src/model/mask.ts";
import { createExpansion } from "../../src/model/variables.ts";

describe("a mask", () => {
  const mask = createMask(['s€cret &"x', 's€cret &"x more', "abc", "", " ab "]);

  it.each([
    ['s€cret &"x', MASK],
    ["?q=s%E2%82%ACcret%20%26%22x&r=1", `?q=${MASK}&r=1`],
    ["?q=s%e2%82%accret%20%26%22x&r=1", `?q=${MASK}&r=1`],
    ["a=s%E2%82%ACcret+%26%22x", `a=${MASK}`],
    ['{"a":"s€cret &\\"x"}', `{"a":"${MASK}"}`],
    ['{"a":"s\\u20accret \\u0026\\u0022x"}', `{"a":"${MASK}"}`],
    ['<s€cret &"x more>', `<${MASK}>`],
    ["<a>s€cret &amp;&quot;x</a>", `<a>${MASK}</a>`],
    ["<a>s&#8364;cret &#x26;&#34;x</a>", `<a>${MASK}</a>`],
    [Buffer.from('s€cret &"x').toString("latin1"), MASK],
    ['sâ‚¬cret &"x', MASK],
    ["?q=s%80cret%20%26%22x&r=1", `?q=${MASK}&r=1`],
    ["?q=s%u20ACcret%20%26%22x&r=1", `?q=${MASK}&r=1`],
    ["'s\\u20accret\\x20\\x26\\x22x'", `'${MASK}'`],
    ["'s\\u{20AC}cret\\u{20}&\\u{000022}x'", `'${MASK}'`],
    ["b's\\xe2\\x82\\xaccret &\"x'", `b'${MASK}'`],
    ["100%, &unknown; \\x %zz %80 &#x999999;", undefined],
    ["%u %u20a \\x4 \\u{} \\u{999999} %e9%c0%80 \\x41", undefined],
    ['100% "\\n" s€cret &\\"x &amp;', `100% "\\n" ${MASK} &amp;`],
    ["abc ab", undefined],
    ["", undefined],
  ])("makes of %j %j", (text, expected = text) => {
    expect(mask(text)).toBe(expected);
  });

  it.each([
    ["of a query by WHATWG", "pa'ss(word)!", "?q=pa%27ss(word)!", "?q="],
    ["of URLSearchParams", "K7 E&G!*~", "q=K7+E%26G%21*%7E", "q="],
    ["of quote_plus", "a/b c(d)", "q=a%2Fb+c%28d%29", "q="],
    ["of JSON with slashes escaped", "a/b&c", '"a\\/b&c', '"'],
    ["of JSON with HTML escaped", "a<b&c", '"a\\u003cb\\u0026c', '"'],
    ["of JSON within JSON", 'a"b\\c', '"{\\"a\\\\\\"b\\\\\\\\c', '"{\\"'],
    ["of a URL within a URL", "a&b/c", "?to=a%2526b%252Fc", "?to="],
    [
      "of XML within JSON",
      "a&b<c",
      '"\\u0026lt;a\\u0026amp;b&lt;c',
      '"\\u0026lt;',
    ],
    ["of a URL in Latin-1", "café & thé", "?q=caf%E9%20%26%20th%e9", "?q="],
    ["of a form in Latin-1", "café & thé", "q=caf%E9+%26+th%E9", "q="],
    ["of JavaScript", "pass=word", "x = 'pass\\x3Dword", "x = '"],
    ["of the host of a URL", "API.Tenant", "http://api.tenant", "http://"],
    ["of an international host", "Büro.example", "//xn--bro-hoa.example", "//"],
    ["of the host's default port", "Tenant:80", "http://tenant", "http://"],
    ["of a trimmed header", " two words\t", "two words", ""],
    ["of itself, which looks encoded", "%41&amp;\\n", "%41&amp;\\n", ""],
    ["of itself in JSON", '%41bc&amp;"', '"%41bc&amp;\\"', '"'],
    ["of XML between CDATA sections", "a]]>b&", "x]]>a]]&gt;b&amp;", "x]]>"],
    ["of itself in XML", '%41bc"&amp;', "<%41bc&quot;&amp;amp;", "<"],
    ["of lower case, read as Latin-1", "É€-AB", "<Ã©â\x82¬-ab", "<"],
    ["of lower case, read as windows-1252", "É€-AB", "<Ã©â‚¬-ab", "<"],
    ["of a header name", "Tenant-A1", "x-tenant-a1", "x-"],
  ])("knows the form %s", (_, secret, text, before) => {
    expect(createMask([secret])(text)).toBe(`${before}${MASK}`);
  });

  it("takes no blanks for a secret, however they were written", () => {
    const text = '{\n    "a": 1\n}';
    expect(createMask(["%20%20%20%20", "    "])(text)).toBe(text);
  });

  it("hides overlapping secrets as one", () => {
    expect(createMask(["one-two", "two-three"])("<one-two-three>")).toBe(
      `<${MASK}>`,
    );
  });

  it("takes no long time for a text that is all escapes", () => {
    const mask = createMask(['"secret"']);
    const text = `${"%25".repeat(100_000)}${"\\".repeat(100_000)}`;
    const began = process.threadCpuUsage(); // whatever else the machine does meanwhile
    expect(mask(text)).toBe(text);
    const { user, system } = process.threadCpuUsage(began);
    expect((user + system) / 1000).toBeLessThan(2000);
  });
});

const AROUND: Readonly<Record<Landing, (text: string) => string>> = {
  text: (text) => `<${text}>`,
  url: (text) => `http://a.example/${text}/?q=${text}`,
  json: (text) => `{"a":"${text}","<${text}>":1}`,
  form: (text) => `a=${text}&b=${text}`,
  xml: (text) => `<a b="${text}">${text}</a>`,
};
const ECHOES: Readonly<Record<string, (text: string) => string>> = {
  sent: (text) => text,
  inJson: (text) => JSON.stringify(text),
  inQuery: (text) => new URLSearchParams({ text }).toString(),
  inLatin1: (text) => Buffer.from(text).toString("latin1"),
  inWindows1252: (text) => new TextDecoder("latin1").decode(Buffer.from(text)),
  parsed: (text) => (URL.canParse(text) ? new URL(text).href : text),
};

it.each(Object.keys(ECHOES))(
  "leaves nothing of any secret that was filled in: %s",
  (name) => {
    const echo = ECHOES[name] as (text: string) => string;
    const landings = Object.keys(AROUND) as Landing[];
    const secrets = string({ unit: "binary", minLength: 4 }).filter(
      (value) => value === value.trim(),
    );
    assert(
      property(constantFrom(...landings), secrets, (landing, value) => {
        const around = AROUND[landing];
        const sent = (secret: string): string => {
          const expansion = createExpansion({
            system: () => undefined,
            environment: () => ({ value: secret, secret: true }),
          });
          return echo(expansion.expand(around("{{it}}"), landing).text);
        };
        const masked = createMask([value])(sent(value));
        expect(masked).toBe(sent(MASK));
      }),
    );
  },
);
