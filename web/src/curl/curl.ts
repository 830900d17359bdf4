// Parses a cURL command, as copied from a browser or documentation, into the request of a call.
import { split } from "shlex";
import type { KeyValue } from "../../../src/model/fields.ts";
import { isFramingHeader } from "../../../src/model/framing-headers.ts";
import { percentDecoded } from "../../../src/model/percent-encoding.ts";
import { applyOption } from "./curl-effects.ts";
import type { BasicCredentials, Command } from "./curl-effects.ts";
import { readOptions } from "./curl-options.ts";

export interface CurlRequest {
  readonly method: string;
  readonly url: string;
  readonly parameters: readonly KeyValue[];
  readonly headers: readonly KeyValue[];
  readonly body: string | null;
  /** Tags that make the call behave as curl would. */
  readonly tags: readonly string[];
  readonly basic: BasicCredentials | null;
}

export interface CurlReading {
  /** Undefined if there are faults. */
  readonly request: CurlRequest | undefined;
  readonly faults: readonly string[];
  /** What was left out, or needs checking; empty if there are faults. */
  readonly notes: readonly string[];
}

export const isCurl = (text: string): boolean => /^\s*(?:\$\s+)?curl(?:\.exe)?\s/i.test(text);

const refuse = (fault: string): CurlReading => ({ request: undefined, faults: [fault], notes: [] });

/** Never throws. */
export function readCurl(text: string): CurlReading {
  if (/^\s*(?:Invoke-WebRequest|\$session\b)/i.test(text))
    return refuse('This is a command for PowerShell. Choose "Copy as cURL (bash)" in the browser.');
  if (!isCurl(text)) return refuse("The command does not begin with curl.");
  if (isForCmd(text))
    return refuse(
      'This command is for Windows cmd.exe, with ^ before quotes and line ends. Choose "Copy as cURL (bash)" in the browser.',
    );
  const { first, operator } = firstCommandOf(text.replaceAll("\r\n", "\n"));
  let words: string[];
  try {
    words = split(forShlex(first).replace(/^\s*\$\s+/, ""));
  } catch {
    return refuse("A quote is not closed, or a backslash ends the command: copy all of it.");
  }
  const { options, redirection } = readOptions(words.slice(1));
  const end = redirection ?? operator;
  const command: Command = newCommand();
  const next = options.find(({ name }) => name === "next");
  const used = next ? options.slice(0, options.indexOf(next)) : options;
  for (const option of used) applyOption(command, option);
  if (next) command.notes.push(`Only the first request, before ${next.written}, is used.`);
  if (end !== undefined) command.notes.push(`Everything after ${end} is ignored.`);
  command.notes.push(...notesOnShell(first));
  return readingOf(command, end);
}

/**
 * Matches what is escaped or quoted, `>&` as in `2>&1`, and operators that end a command. So does
 * the end of a line before another curl command; others may be of a copy that lost its backslashes.
 */
const SHELL =
  /\\.|\$'[^'\\]*(?:\\.?[^'\\]*)*'?|'[^']*'?|"[^"\\]*(?:\\.?[^"\\]*)*"?|[<>][&|]|([;&|]+|\n(?=\s*(?:\$\s+)?curl(?:\.exe)?\s))/gs;

/** Cuts a text at the first unquoted operator, also in the middle of a word. */
function firstCommandOf(text: string): { first: string; operator?: string } {
  for (const { 1: operator, index } of text.matchAll(SHELL))
    if (operator !== undefined)
      return {
        first: text.slice(0, index),
        operator: operator === "\n" ? "the first command" : operator,
      };
  return { first: text };
}

/** Resolves the escapes in quotes that bash knows and shlex does not. */
const forShlex = (text: string): string =>
  text.replace(SHELL, (part) => {
    if (part.startsWith('"')) return part.replace(/\\([$`])|\\./gs, (all, plain) => plain ?? all);
    if (!part.startsWith("$'")) return part;
    return part.replace(/\\U([\dA-Fa-f]{1,8})|\\./gs, (all, code?: string) =>
      code === undefined ? all : characterOf(Number.parseInt(code, 16)),
    );
  });

const characterOf = (code: number): string =>
  code > 0x10ffff ? "\ufffd" : String.fromCodePoint(code);

/** cmd.exe on Windows escapes with ^; arguments of this form do not occur in bash. */
const isForCmd = (text: string): boolean => /\s\^(?:"|\r?\n)/.test(text) && !/\s\$?'/.test(text);

const newCommand = (): Command => ({
  urls: [],
  headers: [],
  removed: [],
  cookies: [],
  data: [],
  query: [],
  tags: [],
  faults: [],
  notes: [],
  leftOut: [],
});

/** Notes the first variable or command that the shell would expand, outside single quotes. */
function notesOnShell(text: string): string[] {
  const [found] =
    /\$(?:[A-Za-z_]\w*|\{\w+\}|\()|`/.exec(text.replace(/\\.|\$?'[^']*'/gs, "")) ?? [];
  if (found === undefined) return [];
  const written = found === "`" ? "`…`" : found.endsWith("(") ? "$(…)" : found;
  return [`The shell would expand ${written}: write the value, or a variable such as {{name}}.`];
}

function readingOf(command: Command, end: string | undefined): CurlReading {
  const { faults, notes, leftOut, urls, tags } = command;
  const [first] = urls;
  if (first === undefined)
    faults.push(
      end === undefined
        ? "The command has no URL."
        : `The command has no URL before ${end}: if an argument contains it, quote the argument.`,
    );
  if (faults.length > 0 || first === undefined)
    return { request: undefined, faults: [...new Set(faults)], notes: [] };
  if (urls.length > 1) notes.push(`Only the first of ${urls.length} URLs is used.`);
  const { url, basic } = readUrl(first, notes);
  const text = command.data.map((part) => part.text).join(command.isJson ? "" : "&");
  const sendsBody = command.data.length > 0 && !command.isGet;
  const decided = decidedNames(command);
  const headers = [...command.headers, ...addedHeaders(command, sendsBody, decided)];
  const framing = headers.filter(({ key }) => isFramingHeader(key)).map(({ key }) => key);
  if (framing.length > 0) notes.push(`Ignored, since the agent sets them: ${framing.join(", ")}.`);
  if (leftOut.length > 0)
    notes.push(`Ignored, because Sonde has no equivalent: ${leftOut.join(", ")}.`);
  const raw = [...command.query, ...(command.isGet ? rawOf(command) : [])];
  const request = {
    method: command.method ?? (command.isHead ? "HEAD" : sendsBody ? "POST" : "GET"),
    url: raw.length === 0 ? url : `${url}${url.includes("?") ? "&" : "?"}${raw.join("&")}`,
    parameters: command.isGet ? command.data.flatMap(({ pair }) => pair ?? []) : [],
    headers: headers.filter(({ key }) => !isFramingHeader(key)),
    body: sendsBody ? text : null,
    tags,
    basic:
      decided.has("authorization") || command.bearer !== undefined || command.isNotBasic
        ? null
        : (command.basic ?? basic),
  };
  return { request, faults, notes };
}

/** Data that `-G` moves to the query as it stands. */
const rawOf = ({ data }: Command): string[] =>
  data
    .filter(({ pair, text }) => !pair && text !== "")
    .map(({ text }) => text.replaceAll(" ", "%20"));

/** Names the headers that `-H` gives or removes, in lower case: curl adds none of these. */
const decidedNames = ({ headers, removed }: Command): ReadonlySet<string> =>
  new Set([...headers.map(({ key }) => key), ...removed].map((name) => name.toLowerCase()));

/** Returns the headers that curl adds by itself, or for other options than `-H`. */
function addedHeaders(
  command: Command,
  sendsBody: boolean,
  decided: ReadonlySet<string>,
): readonly KeyValue[] {
  const { cookies, bearer, userAgent = "", referer = "" } = command;
  const { isJson = false, isCompressed = false } = command;
  const own = [
    { key: "User-Agent", value: userAgent, isSent: userAgent !== "" },
    { key: "Referer", value: referer, isSent: referer !== "" },
    { key: "Authorization", value: `Bearer ${bearer}`, isSent: bearer !== undefined },
    { key: "Cookie", value: cookies.join("; "), isSent: cookies.length > 0 },
    {
      key: "Content-Type",
      value: isJson ? "application/json" : "application/x-www-form-urlencoded",
      isSent: sendsBody,
    },
    { key: "Accept", value: "application/json", isSent: isJson },
    { key: "Accept-Encoding", value: "gzip, deflate, br, zstd", isSent: isCompressed },
  ];
  return own
    .filter(({ key, isSent }) => isSent && !decided.has(key.toLowerCase()))
    .map(({ key, value }) => ({ key, value }));
}

function readUrl(written: string, notes: string[]): Pick<CurlRequest, "url" | "basic"> {
  const isWhole = /^(?:[a-z][a-z0-9+.-]*:\/\/|\{\{|%%)/i.test(written);
  if (!isWhole)
    notes.push("The URL has no scheme: curl assumes http. Write https:// if you mean it.");
  const url = (isWhole ? written : `http://${written}`).replace(/#.*$/s, "");
  const [, scheme = "", userinfo = "", rest = ""] =
    /^([a-z]+:\/\/)([^/?#@]*)@(.*)$/is.exec(url) ?? [];
  if (scheme === "") return { url, basic: null };
  const [, user = "", password = ""] = /^([^:]*):?(.*)$/s.exec(userinfo) ?? [];
  return {
    url: scheme + rest,
    basic: { user: percentDecoded(user), password: percentDecoded(password) },
  };
}
