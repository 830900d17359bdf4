import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readCurl } from "../../web/src/curl/curl.ts";
import type { CurlRequest } from "../../web/src/curl/curl.ts";
import { argumentsOf } from "../support/bash.ts";

const GET: CurlRequest = {
  method: "GET",
  url: "https://shop.example/",
  parameters: [],
  headers: [],
  body: null,
  tags: [],
  basic: null,
};
const FORM = { key: "Content-Type", value: "application/x-www-form-urlencoded" };
const JSON_TYPE = { key: "Content-Type", value: "application/json" };
const POST = { ...GET, method: "POST", headers: [FORM] };
const SHOP = "https://shop.example/";

describe("a command copied from a browser", () => {
  it("of Chrome, for bash, becomes the original request", () => {
    const text = String.raw`curl 'https://shop.example/api/orders?page=1' \
  -H 'accept: application/json' \
  -H 'accept-language: de-DE,de;q=0.9' \
  -b 'session=abc; theme=dark' \
  -H 'content-type: application/json' \
  -H 'sec-ch-ua: "Chromium";v="140", "Not=A?Brand";v="24"' \
  -H 'user-agent: Mozilla/5.0 (X11; Linux x86_64)' \
  --data-raw $'{"name":"it\'s \u0021","lines":"a\\nb"}'`;
    expect(readCurl(text)).toEqual({
      request: {
        ...POST,
        url: "https://shop.example/api/orders?page=1",
        headers: [
          { key: "accept", value: "application/json" },
          { key: "accept-language", value: "de-DE,de;q=0.9" },
          { key: "content-type", value: "application/json" },
          { key: "sec-ch-ua", value: '"Chromium";v="140", "Not=A?Brand";v="24"' },
          { key: "user-agent", value: "Mozilla/5.0 (X11; Linux x86_64)" },
          { key: "Cookie", value: "session=abc; theme=dark" },
        ],
        body: String.raw`{"name":"it's !","lines":"a\nb"}`,
      },
      faults: [],
      notes: [],
    });
  });

  it("of Firefox, for POSIX, omits headers that the agent sets", () => {
    const text = String.raw`curl 'https://shop.example/login' -X POST -H 'User-Agent: Mozilla/5.0' -H 'Accept-Encoding: gzip, deflate, br, zstd' -H 'Content-Type: application/x-www-form-urlencoded' -H 'Connection: keep-alive' -H 'TE: trailers' --compressed --data-raw $'user=ren\xe9&pw=a%26b'`;
    expect(readCurl(text)).toEqual({
      request: {
        ...POST,
        url: "https://shop.example/login",
        headers: [
          { key: "User-Agent", value: "Mozilla/5.0" },
          { key: "Accept-Encoding", value: "gzip, deflate, br, zstd" },
          { key: "Content-Type", value: "application/x-www-form-urlencoded" },
        ],
        body: "user=rené&pw=a%26b",
      },
      faults: [],
      notes: ["Ignored, since the agent sets them: Connection, TE."],
    });
  });

  it.each([
    ["cmd.exe", 'curl ^"https://shop.example/^" ^\r\n  -H ^"accept: */*^"', "cmd.exe"],
    ["cmd.exe of Firefox", 'curl "https://shop.example/" ^\r\n  -H "accept: */*"', "cmd.exe"],
    ["PowerShell", "Invoke-WebRequest -Uri https://shop.example/", "PowerShell"],
  ])("for %s is refused, with what to choose", (_, text, word) => {
    const { request, faults } = readCurl(text);
    expect(request).toBeUndefined();
    expect(faults).toEqual([expect.stringMatching(new RegExp(`${word}.*Copy as cURL \\(bash\\)`))]);
  });
});

describe("an option", () => {
  it.each<[string, CurlRequest]>([
    [`curl ${SHOP}`, GET],
    [`$ curl -sSLv -o /dev/null --url ${SHOP}`, GET],
    [`curl --no-buffer --no-progress-meter ${SHOP}`, GET],
    [`curl -XDELETE ${SHOP}`, { ...GET, method: "DELETE" }],
    [`curl -I ${SHOP}`, { ...GET, method: "HEAD" }],
    [`curl -d a=1 -d 'b=2 3' ${SHOP}`, { ...POST, body: "a=1&b=2 3" }],
    [`curl --request PUT -d '' ${SHOP}`, { ...POST, method: "PUT", body: "" }],
    [`curl --data-raw @kept ${SHOP}`, { ...POST, body: "@kept" }],
    [`curl --data-urlencode 'q=a b&c' ${SHOP}`, { ...POST, body: "q=a%20b%26c" }],
    [
      `curl --json '{"a":1}' ${SHOP}`,
      {
        ...POST,
        headers: [JSON_TYPE, { key: "Accept", value: "application/json" }],
        body: '{"a":1}',
      },
    ],
    [
      `curl -G -d sort=up --data-urlencode 'q=a b' '${SHOP}?x=1'`,
      { ...GET, url: `${SHOP}?x=1&sort=up`, parameters: [{ key: "q", value: "a b" }] },
    ],
    [
      `curl -H 'X-Empty;' -H 'Accept:' -H "X-Time: 12:30" -A me -e https://a/ ${SHOP}`,
      {
        ...GET,
        headers: [
          { key: "X-Empty", value: "" },
          { key: "X-Time", value: "12:30" },
          { key: "User-Agent", value: "me" },
          { key: "Referer", value: "https://a/" },
        ],
      },
    ],
    [`curl -H 'content-type:' -d '{"a":1}' ${SHOP}`, { ...POST, headers: [], body: '{"a":1}' }],
    [`curl -H 'Content-Type;x' -d x ${SHOP}`, { ...POST, headers: [], body: "x" }],
    [
      `curl -H 'Content-Type:' -H 'Content-Type: text/plain' -d x ${SHOP}`,
      { ...POST, headers: [{ key: "Content-Type", value: "text/plain" }], body: "x" },
    ],
    [`curl -H Content-Type: -H Accept: --json '{}' ${SHOP}`, { ...POST, headers: [], body: "{}" }],
    [
      `curl -A me -e https://a/ -b a=1 --compressed -H User-Agent: -H Referer: -H Cookie: -H Accept-Encoding: ${SHOP}`,
      GET,
    ],
    [
      `curl -A me -H 'User-Agent: you' ${SHOP}`,
      { ...GET, headers: [{ key: "User-Agent", value: "you" }] },
    ],
    [
      `curl -A me -A you -e ';auto' ${SHOP}`,
      { ...GET, headers: [{ key: "User-Agent", value: "you" }] },
    ],
    [`curl -A '' ${SHOP}`, GET],
    [`curl -u ann:word -H Authorization: ${SHOP}`, GET],
    [`curl --oauth2-bearer token -H Authorization: ${SHOP}`, GET],
    [
      `curl -u ann:word -H 'Authorization: Own' ${SHOP}`,
      { ...GET, headers: [{ key: "Authorization", value: "Own" }] },
    ],
    [
      `curl -u ann:word --oauth2-bearer token ${SHOP}`,
      { ...GET, headers: [{ key: "Authorization", value: "Bearer token" }] },
    ],
    [`curl -u 'ann:pass:word' ${SHOP}`, { ...GET, basic: { user: "ann", password: "pass:word" } }],
    ["curl https://ann:s%40fe@shop.example/", { ...GET, basic: { user: "ann", password: "s@fe" } }],
    [
      `curl -k -m 2.5 --max-redirs 3 ${SHOP}`,
      { ...GET, tags: ["insecure-tls", "timeout:2.5", "max-redirects:3"] },
    ],
    [
      `curl --compressed ${SHOP}`,
      { ...GET, headers: [{ key: "Accept-Encoding", value: "gzip, deflate, br, zstd" }] },
    ],
  ])("%s", (text, request) => {
    expect(readCurl(text)).toEqual({ request, faults: [], notes: [] });
  });

  it.each([
    [`curl -d @order.json ${SHOP}`, "-d reads the file order.json"],
    [`curl --data-urlencode q@order.txt ${SHOP}`, "--data-urlencode reads the file order.txt"],
    [`curl -F 'file=@cat.png' ${SHOP}`, "-F sends a multipart form"],
    [`curl -T cat.png ${SHOP}`, "-T sends the file cat.png"],
    [`curl -b jar.txt ${SHOP}`, "-b reads cookies from the file jar.txt"],
    [`curl --foo bar ${SHOP}`, "--foo is not a known curl option"],
    [`curl -sW 5 ${SHOP}`, "-W is not a known curl option"],
    [`curl --no-url ${SHOP}`, "--no-url is not a known curl option"],
    [`curl ${"--foo ".repeat(3)}${SHOP}`, "--foo is not a known curl option"],
    [`curl --foo ${SHOP} ${SHOP}b`, "--foo is not a known curl option"],
    ["curl -s", "has no URL"],
    [`curl -d a=1&b=2 ${SHOP}`, "has no URL before &: if an argument contains it, quote"],
    [`curl -d 'a ${SHOP}`, "not closed"],
    ["wget https://shop.example/", "does not begin with curl"],
  ])("%s is refused", (text, fault) => {
    const { request, faults, notes } = readCurl(text);
    expect(request).toBeUndefined();
    expect(faults).toEqual([expect.stringContaining(fault)]);
    expect(notes).toEqual([]);
  });

  it.each([
    [`curl -x proxy:3128 --ntlm --dns-servers 192.0.2.1 ${SHOP}`, "-x, --ntlm, --dns-servers"],
    [`curl ${SHOP} | jq .`, "Everything after | is ignored."],
    [`curl ${SHOP} 2>&1 | jq .`, "Everything after 2>&1 is ignored."],
    [`curl -H "Authorization: Bearer $TOKEN" ${SHOP}`, "The shell would expand $TOKEN"],
    [`curl -H "A: \`date\`" ${SHOP}`, "The shell would expand `…`"],
    [`curl -m 600 ${SHOP}`, "-m 600 is lowered to 120 s"],
    [`curl ${SHOP} ${SHOP}b`, "Only the first of 2 URLs is used."],
    ["curl shop.example/", "The URL has no scheme"],
  ])("%s is noted", (text, note) => {
    const { request, notes } = readCurl(text);
    expect(request).toBeDefined();
    expect(notes).toEqual([expect.stringContaining(note)]);
  });
});

describe("credentials of another scheme", () => {
  it.each([
    ["--aws-sigv4 aws:amz:eu-west-1:s3", "--aws-sigv4 signs requests: choose an authentication"],
    ["--digest", "Ignored, because Sonde has no equivalent: --digest."],
  ])("are not sent as Basic ones: %s", (option, note) => {
    const { request, notes } = readCurl(`curl ${option} -u KEY:SECRET ${SHOP}`);
    expect(request?.basic).toBeNull();
    expect(notes).toEqual([expect.stringContaining(note)]);
  });
});

describe("of several requests", () => {
  it.each([
    [`curl ${SHOP} -d x --next ${SHOP}b -d y -H 'B: 1' --foo`, "--next"],
    [`curl -d x ${SHOP} -s:d y ${SHOP}b`, "-:"],
    [`curl -d x ${SHOP} -: ${SHOP}b --next -I ${SHOP}c`, "-:"],
  ])("only the first is read: %s", (text, option) => {
    expect(readCurl(text)).toEqual({
      request: { ...POST, body: "x" },
      faults: [],
      notes: [`Only the first request, before ${option}, is used.`],
    });
  });
});

describe("the end of a line", () => {
  it.each([
    `curl ${SHOP}\ncurl -X DELETE ${SHOP}b -u ann:pw -k`,
    `$ curl ${SHOP}\n\n$ curl -d x ${SHOP}b`,
  ])("before another command ends the command: %s", (text) => {
    expect(readCurl(text)).toEqual({
      request: GET,
      faults: [],
      notes: ["Everything after the first command is ignored."],
    });
  });

  it.each([`curl ${SHOP}\n  -d x`, `curl \\\n  ${SHOP} \\\n  -d x\n`, `curl -d "x" \n ${SHOP}`])(
    "before an option does not: %s",
    (text) => {
      expect(readCurl(text)).toEqual({ request: { ...POST, body: "x" }, faults: [], notes: [] });
    },
  );
});

describe("an argument", () => {
  it.each([
    String.raw`"?\$top=5&\$select=id"`,
    String.raw`"{\"price\": \"\$5\", \"c\": \"\`x\`\"}"`,
    String.raw`"\\\$ \\ \a"`,
    String.raw`$'\U0001F600 \u00fc \'\\U41'`,
    String.raw`'\$5'`,
  ])("in quotes is what it is in bash: %s", (written) => {
    const text = `curl -d ${written} ${SHOP}`;
    const { request, notes } = readCurl(text);
    expect(request?.body).toBe(argumentsOf(text)[1]);
    expect(notes).toEqual([]);
  });
});

describe("an operator of the shell", () => {
  it.each([
    [`curl -s ${SHOP}; echo`, ";"],
    [`curl ${SHOP} ; curl -d x ${SHOP}b`, ";"],
    [`curl ${SHOP}&& curl -d x ${SHOP}b`, "&&"],
    [`curl '${SHOP}'|jq ".$FIELD"`, "|"],
    [`curl ${SHOP}&`, "&"],
  ])("ends the command: %s", (text, operator) => {
    expect(readCurl(text)).toEqual({
      request: GET,
      faults: [],
      notes: [`Everything after ${operator} is ignored.`],
    });
  });

  it.each([
    ["quoted", String.raw`curl '${SHOP}' -d 'a;b' -d "c|\"&d" -d $'\';e'`],
    ["escaped", String.raw`curl ${SHOP} -d a\;b -d c\|\"\&d -d \'\;e`],
  ])("belongs to its argument if it is %s", (_, text) => {
    expect(readCurl(text)).toEqual({
      request: { ...POST, body: `a;b&c|"&d&';e` },
      faults: [],
      notes: [],
    });
  });
});

/** Quotes as Chrome quotes an argument for bash. */
const quotedByChrome = (text: string): string =>
  /[\p{Cc}!']/u.test(text)
    ? `$'${text
        .replaceAll("\\", "\\\\")
        .replaceAll("'", "\\'")
        .replaceAll("\n", "\\n")
        .replaceAll("\r", "\\r")
        .replaceAll(
          /[\p{Cc}!]/gu,
          (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
        )}'`
    : `'${text}'`;

describe("any command", () => {
  it("that Chrome writes becomes the original request", () => {
    const text = fc.string({ unit: "binary" });
    const header = fc.record({
      key: fc.stringMatching(/^X-[a-z]{1,8}$/),
      value: fc.stringMatching(/^[!-~]([ -~]{0,20}[!-~])?$/),
    });
    fc.assert(
      fc.property(
        fc.webUrl({ withQueryParameters: true }),
        fc.array(header),
        text,
        (url, headers, body) => {
          const given = [...headers, JSON_TYPE];
          const lines = [
            `curl ${quotedByChrome(url)}`,
            ...given.map(({ key, value }) => `-H ${quotedByChrome(`${key}: ${value}`)}`),
            `--data-raw ${quotedByChrome(body)}`,
          ];
          const { request, faults } = readCurl(lines.join(" \\\n  "));
          expect(faults).toEqual([]);
          expect(request).toEqual({ ...POST, url, headers: given, body });
        },
      ),
    );
  });

  it("is read at once, however many options it has", { timeout: 20_000 }, () => {
    const { request } = readCurl(`curl ${SHOP} ${"-H 'a: b' ".repeat(50_000)}`);
    expect(request?.headers).toHaveLength(50_000);
    expect(readCurl(`curl ${SHOP} -${"s".repeat(200_000)}`).request).toEqual(GET);
  });

  it("is read or rejected, and never throws", () => {
    const word = fc.oneof(
      fc.constantFrom("-H", "-d", "-G", "-u", "--json", "'", '"', "$'", "\\", "|", "@x", "^\n"),
      fc.string({ unit: "binary" }),
    );
    fc.assert(
      fc.property(fc.array(word), (words) => {
        const { request, faults } = readCurl(`curl ${words.join(" ")}`);
        expect(request === undefined).toBe(faults.length > 0);
      }),
      { numRuns: 2000 },
    );
  });
});
