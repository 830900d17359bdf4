import { hash } from "node:crypto";
import { array, assert, constantFrom, property, string } from "fast-check";
import { describe, expect, it } from "vitest";
import type { Landing } from "../../src/model/encode-value.ts";
import { createMask, isCredential, MASK, maskUrl } from "../../src/model/mask.ts";
import { createExpansion } from "../../src/model/variables.ts";

const LONG = Array.from({ length: 150 }, (_, n) => n).join();
const MONOTONOUS = `${"a".repeat(400)}, and its end`;

describe("a name", () => {
  it.each([
    ["Authorization"],
    ["cookie"],
    ["X-Api-Key"],
    ["apikey"],
    ["_token"],
    ["key"],
    ["Ocp-Apim-Subscription-Key"],
    ["access_key"],
    ["client_secret"],
    ["Password"],
    ["X-Amz-Signature"],
    ["X-Amz-Credential"],
    ["PHPSESSIONID"],
  ])("%s names a credential", (name) => {
    expect(isCredential(name)).toBe(true);
  });

  it.each([
    ["Accept"],
    ["author"],
    ["WWW-Authenticate"],
    ["monkey"],
    ["keyword"],
    ["Content-Type"],
    ["traceparent"],
    ["Sonde-Run"],
  ])("%s does not name a credential", (name) => {
    expect(isCredential(name)).toBe(false);
  });
});

it.each([
  ["https://a.example/?api%5Fkey=x&q=1", `https://a.example/?api%5Fkey=${MASK}&q=1`],
  ["https://user:pass@a.example/", `https://${MASK}@a.example/`],
  ["https://user:p@ss@a.example/", `https://${MASK}@a.example/`],
  ["//user:pass@a.example/@b", `//${MASK}@a.example/@b`],
  ["https:user:pass@a.example/", `https:${MASK}@a.example/`],
  ["/@user:a", "/@user:a"],
  ["/?a?token=x&c", `/?a?token=${MASK}&c`],
  ["/next?token=x#token=y", `/next?token=${MASK}#token=${MASK}`],
  ["/done#access_token=x&a=1&id_token=y", `/done#access_token=${MASK}&a=1&id_token=${MASK}`],
  ["http://{{host}}/?%zz=1&token=%zz", `http://{{host}}/?%zz=1&token=${MASK}`],
  ["https://a.example/token/x", "https://a.example/token/x"],
])("%s is shown as %s", (url, shown) => {
  expect(maskUrl(url)).toBe(shown);
});

it("a URL of a million question marks stays as it is", () => {
  const url = `/${"?".repeat(1_000_000)}`;
  expect(maskUrl(url)).toBe(url);
});

describe("a mask", () => {
  const mask = createMask(['s€cret &"x', 's€cret &"x more', "abc", "", " ab "]);

  it.each([
    ['s€cret &"x', MASK],
    ["?q=s%E2%82%ACcret%20%26%22x&r=1", `?q=${MASK}&r=1`],
    ["?q=s%e2%82%accret%20%26%22x&r=1", `?q=${MASK}&r=1`],
    ["a=s%E2%82%ACcret+%26%22x", `a=${MASK}`],
    ['{"a":"s€cret &\\"x"}', `{"a":"${MASK}"}`],
    ['<s€cret &"x more>', `<${MASK}>`],
    ["<a>s€cret &amp;&quot;x</a>", `<a>${MASK}</a>`],
    ['100% "\\n" s€cret &\\"x &amp;', `100% "\\n" ${MASK} &amp;`],
    ["abc ab", undefined],
    ["", undefined],
  ])("turns %j into %j", (text, expected = text) => {
    expect(mask(text)).toBe(expected);
  });

  it.each([
    ["of a query by WHATWG", "pa'ss(word)!", "?q=pa%27ss(word)!", "?q="],
    ["of URLSearchParams", "K7 E&G!*~", "q=K7+E%26G%21*%7E", "q="],
    ["of quote_plus", "a/b c(d)", "q=a%2Fb+c%28d%29", "q="],
    ["of JSON with slashes escaped", "a/b&c", '"a\\/b&c', '"'],
    ["of JSON with HTML escaped", "a<b&c", '"a\\u003cb\\u0026c', '"'],
    ["of JSON within JSON", 'a"b\\c', '"{\\"a\\\\\\"b\\\\\\\\c', '"{\\"'],
    ["of JSON by Python", 'a€ü"b', '"a\\u20ac\\u00fc\\"b', '"'],
    ["of JSON by PHP", "a/€b", '"a\\/\\u20acb', '"'],
    ["of JSON by .NET", "a€\"b&'c", '"a\\u20AC\\u0022b\\u0026\\u0027c', '"'],
    ["of JSON by Gson", "a=b'c", '"a\\u003db\\u0027c', '"'],
    ["of HTML with numbers", "a'b\"c", "<a&#39;b&#34;c", "<"],
    ["of HTML by PHP", "a'b\"c", "<a&#039;b&quot;c", "<"],
    ["of HTML by Python", "a'b\"c", "<a&#x27;b&quot;c", "<"],
    ["of HTML in single quotes", "a'b\"c", '<a&apos;b"c', "<"],
    ["of HTML in hexadecimal", "a'b\"c", "<a&#x27;b&#x22;c", "<"],
    ["of HTML text", "a'b\"c&d", "<a'b\"c&amp;d", "<"],
    ["of RFC 3986", "a b!(c)*~d'e/f", "?a%20b%21%28c%29%2A~d%27e%2Ff", "?"],
    ["of RFC 3986 in lower case", "a*b/c?ü", "?a%2ab%2fc%3f%c3%bc", "?"],
    ["of rawurlencode with slashes", "a/b c+d", "/a/b%20c%2Bd", "/"],
    ["of urlencode", "a-b~c d", "?a-b%7Ec+d", "?"],
    ["of a URL's own query", "a/b'c(d) {e}|f", "?a/b%27c(d)%20{e}|f", "?"],
    ["of a URL's own path", "a'b (c) {d}", "/a'b%20(c)%20%7Bd%7D", "/"],
    ["of base64 without padding", "bWU6aHVzaA==", "<bWU6aHVzaA", "<"],
    ["of base64url", "bW/6aH+zaA==", "<bW_6aH-zaA", "<"],
    ["of a URL within a URL", "a&b/c", "?to=a%2526b%252Fc", "?to="],
    ["of XML within JSON", 'a&b"\\c', '"&lt;a&amp;b&quot;\\\\c', '"&lt;'],
    ["of the host of a URL", "API.Tenant", "http://api.tenant", "http://"],
    ["of an international host", "Büro.example", "//xn--bro-hoa.example", "//"],
    ["of the host's default port", "Tenant:80", "http://tenant", "http://"],
    ["of the default port of HTTPS", "Tenant:443", "https://tenant", "https://"],
    ["of a URL's default port", "https://a.example:443/S1", "https://a.example/S1", ""],
    ["of a URL's letter case", "HTTP://A.example/S1", "http://a.example/S1", ""],
    ["of a URL without a path", "http://a.example?b=c", "http://a.example/?b=c", ""],
    ["of a URL before its path", "https://a.example:443", "https://a.example", ""],
    ["of a URL with dot segments", "https://a.example/b/../c", "https://a.example/c", ""],
    ["of an international URL", "https://Büro.example/a", "https://xn--bro-hoa.example/a", ""],
    ["of a trimmed header", " two words\t", "two words", ""],
    ["of itself, which looks encoded", "%41&amp;\\n", "%41&amp;\\n", ""],
    ["of itself in JSON", '%41bc&amp;"', '"%41bc&amp;\\"', '"'],
    ["of XML between CDATA sections", "a]]>b&", "x]]>a]]&gt;b&amp;", "x]]>"],
    ["of itself in XML", '%41bc"&amp;', "<%41bc&quot;&amp;amp;", "<"],
    ["of a header name", "Tenant-A1", "x-tenant-a1", "x-"],
  ])("covers the form %s", (_, secret, text, before) => {
    expect(createMask([secret])(text)).toBe(`${before}${MASK}`);
  });

  it("does not treat blanks as a secret, encoded or not", () => {
    const text = '{\n    "a": 1\n}';
    expect(createMask(["%20%20%20%20", "    "])(text)).toBe(text);
  });

  it("masks overlapping secrets as one", () => {
    expect(createMask(["one-two", "two-three"])("<one-two-three>")).toBe(`<${MASK}>`);
  });

  it.each([
    ["overlaps itself", "one-one", "<one-one-one>", `<${MASK}>`],
    ["is cut off", LONG, `<${LONG.slice(0, 300)}`, `<${MASK}`],
    ["begins twice", LONG, `<${LONG.slice(0, 300)} ${LONG}>`, `<${MASK} ${MASK}>`],
    ["begins before", MONOTONOUS, `<${"a".repeat(9)}${MONOTONOUS}>`, `<${MASK}>`],
    ["repeats itself", LONG, `<${LONG}${LONG}>`, `<${MASK}${MASK}>`],
    ["is cut off after 256 characters", LONG, `<${LONG.slice(0, 256)}`, `<${MASK}`],
  ])("masks what there is of a secret that %s", (_, secret, text, shown) => {
    expect(createMask([secret])(text)).toBe(shown);
  });

  it("does not mask fewer than 256 characters of a longer secret", () => {
    for (const text of [LONG.slice(0, 255), `<${LONG.slice(0, 255)}>`])
      expect(createMask([LONG])(text)).toBe(text);
  });

  it("masks every part of a secret, and nothing else", () => {
    const texts = array(constantFrom("a", "b", "-"), { maxLength: 60 });
    const secrets = array(string({ unit: constantFrom("a", "b"), minLength: 4, maxLength: 9 }));
    assert(
      property(secrets, texts, (values, characters) => {
        const text = characters.join("");
        const isIn = (at: number, { length }: string, start: number): boolean =>
          start <= at && at < start + length;
        const isHidden = (at: number): boolean =>
          values.some((value) =>
            characters.some((_, start) => isIn(at, value, start) && text.startsWith(value, start)),
          );
        const shown = characters.filter((_, at) => !isHidden(at)).join("");
        expect(createMask(values)(text).replaceAll(MASK, "")).toBe(shown);
      }),
    );
  });
});

describe("the work limit of a mask", () => {
  const numbered = (count: number, before: string): string[] =>
    Array.from({ length: count }, (_, n) => `${before}${n}`);

  it("suffices for more than any legitimate call", () => {
    const mask = createMask(numbered(100, "a secret of some length, "));
    const line = 'a body, "in JSON\\n", ';
    const body = line.repeat(2 ** 20 / line.length);
    for (const header of numbered(100, "text/html; a=")) expect(mask(header)).toBe(header);
    expect(mask(body)).toBe(body);
    expect(mask(encodeURIComponent(body))).toBe(encodeURIComponent(body));
    expect(mask("<a secret of some length, 7>")).toBe(`<${MASK}>`);
  });

  it("suffices for secrets that begin with all kinds of characters", () => {
    const digests = (count: number): string[] =>
      Array.from({ length: count }, (_, n) => hash("sha256", String(n), "base64"));
    const [secret = "", ...secrets] = digests(100);
    const mask = createMask([secret, ...secrets]);
    const body = digests(20_000).slice(100).join();
    for (let n = 0; n < 5; n += 1) expect(mask(body)).toBe(body);
    expect(mask(`<${secret}>`)).toBe(`<${MASK}>`);
  });

  const periodic = `${"a".repeat(32_000)}b${"a".repeat(32_000)}`;
  it("suffices for a text of nothing but escapes", () => {
    const text = "%25".repeat(350_000);
    expect(createMask(['"secret"'])(text)).toBe(text);
  });

  it.each([
    ["is nearly the secret, everywhere", [periodic], "a".repeat(2 ** 20)],
    ["begins many secrets everywhere", numbered(24_000, "QQQQQQQQ"), "Q".repeat(32 * 1024)],
  ])("is exceeded by a text that %s: it is masked as a whole", (_, secrets, text) => {
    expect(createMask(secrets)(text)).toBe(MASK);
  });

  it.each([
    ["secrets", numbered(30_000, "a secret ")],
    ["long ones", numbered(100, "%2541".repeat(12_000))],
  ])("is exceeded by too many %s: every text is masked as a whole", (_, secrets) => {
    expect(createMask(secrets)("<text>")).toBe(MASK);
  });

  it("is used up by one text: it and each later one are masked as a whole", () => {
    const mask = createMask(numbered(1000, "Q".repeat(50)));
    expect(mask("<text>")).toBe("<text>");
    expect(mask("Q".repeat(32 * 1024))).toBe(MASK);
    expect(mask("<text>")).toBe(MASK);
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
  parsed: (text) => (URL.canParse(text) ? new URL(text).href : text),
};

it.each(Object.keys(ECHOES))("leaves no trace of any filled-in secret: %s", (name) => {
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
});
