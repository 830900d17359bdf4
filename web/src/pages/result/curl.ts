// A request as a cURL command that a shell understands.
import { quote } from "shlex";
import type { Result } from "../../../../src/model/result.ts";

/** What the interface shows in place of a secret. */
const MASK = "********";

/** In a command, a name to be replaced. */
const PLACEHOLDER = "SECRET";

/** Made by cURL itself, from the URL and the body. */
const FRAMING = ["content-length", "transfer-encoding", "connection", "host"];

/** Masked values become placeholders, which `hasSecrets` finds. */
export function curlOf({ url, method, headers, body }: NonNullable<Result["request"]>): string {
  const isHead = method === "HEAD";
  const sent = headers.filter(({ key }) => !FRAMING.includes(key.toLowerCase()));
  const parts = [
    ["curl", ...(isHead ? ["--head"] : []), quote(plain(url))].join(" "),
    ...(isHead || (method === "GET" && body === null) ? [] : [`--request ${quote(method)}`]),
    ...sent.map(({ key, value }) => `--header ${quote(plain(headerOf(key, value)))}`),
    ...(body === null ? [] : [`--data-raw ${quote(plain(body))}`]),
  ];
  return parts.join(" \\\n  ");
}

/** cURL leaves out a header that ends with a colon, and sends one that ends with a semicolon. */
const headerOf = (key: string, value: string): string =>
  value === "" ? `${key};` : `${key}: ${value}`;

const plain = (text: string): string => text.replaceAll(MASK, PLACEHOLDER);

export const hasSecrets = (command: string): boolean => command.includes(PLACEHOLDER);
