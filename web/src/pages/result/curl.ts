// Writes a request as a cURL command for a shell.
import { quote } from "shlex";
import { MASK } from "../../../../src/model/mask.ts";
import type { Result } from "../../../../src/model/result.ts";

/** Stands for a secret in a command, to be replaced. */
const PLACEHOLDER = "SECRET";

/** Headers that cURL derives from the body. */
const FRAMING = ["content-length", "transfer-encoding", "connection"];

/** Masked values become placeholders, which `hasSecrets` finds. cURL sends no body with HEAD. */
export function curlOf({ url, method, headers, body }: NonNullable<Result["request"]>): string {
  const isHead = method === "HEAD";
  const ownHost = URL.canParse(url) ? new URL(url).host : undefined;
  const sent = headers.filter(
    ({ key, value }) =>
      !FRAMING.includes(key.toLowerCase()) && !(isNamed(key, "host") && value === ownHost),
  );
  const data = isHead ? null : body;
  const isTyped = data === null || sent.some(({ key }) => isNamed(key, "content-type"));
  const parts = [
    ["curl", ...optionsOf(url, isHead), quoted(plain(url))].join(" "),
    ...(isHead || (method === "GET" && body === null) ? [] : [`--request ${quote(method)}`]),
    ...sent.map(({ key, value }) => `--header ${quoted(plain(headerOf(key, value)))}`),
    // cURL would say that the body is a form.
    ...(isTyped ? [] : ["--header Content-Type:"]),
    ...(data === null ? [] : [`--data-raw ${quoted(plain(data))}`]),
  ];
  return parts.join(" \\\n  ");
}

const isNamed = (key: string, name: string): boolean => key.toLowerCase() === name;

/** cURL reads brackets and braces in a URL as a list of URLs. */
const optionsOf = (url: string, isHead: boolean): string[] => [
  ...(isHead ? ["--head"] : []),
  ...(/[[\]{}]/.test(url) ? ["--globoff"] : []),
];

/** Terminals execute pasted control characters, even in quotes; format characters hide text. */
const UNSEEN = /[^\P{Cc}\n]|\p{Cf}/gu;

const quoted = (text: string): string =>
  text.search(UNSEEN) === -1
    ? quote(text)
    : `$'${text.replaceAll(/[\\']/g, "\\$&").replaceAll(UNSEEN, escaped)}'`;

function escaped(character: string): string {
  const code = character.codePointAt(0)?.toString(16) ?? "";
  return code.length > 4 ? `\\U${code.padStart(8, "0")}` : `\\u${code.padStart(4, "0")}`;
}

/** cURL leaves out a header that ends with a colon; a semicolon sends it without a value. */
const headerOf = (key: string, value: string): string =>
  value === "" ? `${key};` : `${key}: ${value}`;

const plain = (text: string): string => text.replaceAll(MASK, PLACEHOLDER);

export const hasSecrets = (command: string): boolean => command.includes(PLACEHOLDER);
