// Shared by the commands over the REST API: address and key, the screen, and the printing of
// objects and lists.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { styleText } from "node:util";
import type { Command } from "commander";
import { createApi } from "../client/api.ts";
import type { Api, Json } from "../client/api.ts";
import { tableOf } from "../client/table.ts";
import type { Column, Screen } from "../client/table.ts";
import { harmlessJson, harmlessLines } from "../client/text.ts";
import { KEY_FILE } from "../compose/first-start.ts";
import type { Config } from "../config/config.ts";
import { invalid } from "../model/errors.ts";
import { show } from "../model/validate.ts";
import { reachable } from "../runtime/ops-client.ts";
import { wholeNumberOf } from "./command.ts";
import type { Context } from "./command.ts";

export interface ApiOptions {
  readonly apiUrl?: string;
  readonly json?: boolean;
}

export interface ListOptions extends ApiOptions {
  readonly limit: number;
}

const LOOPBACK = /^(?:localhost|127\.[\d.]+|\[::1\])$/;
const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000_000;

/** Adds the options of every command over the API. */
export const addApiOptions = (command: Command, json: string): Command =>
  command
    .option("--json", json)
    .option("--api-url <url>", "the service's address (default: SONDE_API_URL)");

/** Adds those, and the options of commands that list. */
export const addListOptions = (command: Command, limit = DEFAULT_LIMIT): Command =>
  addApiOptions(
    command.option(
      "--limit <number>",
      "maximum entries",
      wholeNumberOf("--limit", 1, MAX_LIMIT),
      limit,
    ),
    "one JSON object per line",
  );

/** Throws when there is no key, or no address. */
export function openApi({ config }: Context, { apiUrl }: ApiOptions): Api {
  const settings = config({ SONDE_API_URL: apiUrl });
  return createApi({ url: urlOf(settings), ...keyOf(settings) });
}

function urlOf({ apiUrl, host, port }: Config): string {
  if (apiUrl !== undefined) return apiUrl;
  if (port === 0)
    throw invalid("SONDE_PORT=0 names no port: set SONDE_API_URL to the service's address");
  return `http://${reachable(host)}:${port}`;
}

/** Uses this machine's key for no other address. */
function keyOf({ apiKey, apiUrl, bootstrapKey, dataDir }: Config): {
  key: string;
  keyFrom: string;
} {
  if (apiKey !== undefined) return { key: apiKey, keyFrom: "SONDE_API_KEY" };
  if (apiUrl !== undefined && !LOOPBACK.test(new URL(apiUrl).hostname))
    throw invalid(
      `no API key for ${apiUrl}: set SONDE_API_KEY, or SONDE_API_KEY_FILE to a file that holds it`,
    );
  if (bootstrapKey !== undefined) return { key: bootstrapKey, keyFrom: "SONDE_BOOTSTRAP_KEY" };
  const file = join(dataDir, KEY_FILE);
  try {
    return { key: readFileSync(file, "utf8").trimEnd(), keyFrom: file };
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw invalid(
      `no API key: set SONDE_API_KEY, or SONDE_API_KEY_FILE to a file that holds it (cannot read the first key from ${file}: ${code})`,
      { cause },
    );
  }
}

/** Colours only where stdout is a terminal, and NO_COLOR is not set. */
export const screenOf = (): Screen => ({
  width: process.stdout.isTTY ? process.stdout.columns : undefined,
  paint: (color, text) => styleText(color, text, { stream: process.stdout }),
});

/** Returns foreign text unchanged for a file or a pipe, and made harmless for a terminal. */
export const fitForOutput = (value: string): string =>
  process.stdout.isTTY ? harmlessLines(value) : value;

export const printObject = ({ print }: Context, object: Json): void =>
  print(`${harmlessJson(object, 2)}\n`);

export interface Listing {
  readonly columns: readonly Column<Json>[];
  /** Names the items in messages: that there are none, or that there are more. */
  readonly noun: string;
  /** Adds fields to the items that only the table shows. */
  readonly explain?: (items: readonly Json[]) => Promise<readonly Json[]>;
}

/** Prints the first `limit` items; says on stderr if there are more, or none. */
export async function printList(
  context: Context,
  items: AsyncIterable<Json>,
  { limit, json = false }: Pick<ListOptions, "limit" | "json">,
  { columns, noun, explain }: Listing,
): Promise<void> {
  const shown: Json[] = [];
  let count = 0;
  for await (const item of items) {
    count += 1;
    if (count > limit) break;
    if (json) context.print(`${harmlessJson(item)}\n`);
    else shown.push(item);
  }
  if (!json && shown.length > 0)
    context.print(tableOf(columns, explain ? await explain(shown) : shown, screenOf()));
  if (count === 0) process.stderr.write(`no ${noun}\n`);
  if (count > limit) process.stderr.write(`there are more ${noun}: raise --limit to see them\n`);
}

/** Reads stdin to its end, however slowly it arrives. */
export const readStdin = (): Promise<string> => text(process.stdin);

/** Reads the JSON object in a file, or on stdin if the file is `-`. Rejects for anything else. */
export async function readJsonFile(file: string): Promise<Json> {
  let content: string;
  try {
    content = file === "-" ? await readStdin() : readFileSync(file, "utf8");
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw invalid(`--file: cannot read ${show(file)} (${code})`, { cause });
  }
  try {
    const value: unknown = JSON.parse(content);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Json;
  } catch (cause) {
    throw invalid(`--file: ${show(file)} is not JSON (${(cause as Error).message})`, { cause });
  }
  throw invalid(`--file: ${show(file)} holds no JSON object`);
}
