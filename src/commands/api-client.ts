// The commands' access to the REST API: address, key, and the options of every command over it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { createApi } from "../client/api.ts";
import type { Api } from "../client/api.ts";
import { KEY_FILE } from "../compose/first-start.ts";
import type { Config } from "../config/config.ts";
import { invalid } from "../model/errors.ts";
import { reachable } from "../runtime/ops-client.ts";
import type { Context } from "./command.ts";
import { wholeNumberOf } from "./option-values.ts";

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
  const url = settings.apiUrl ?? localUrl(settings, "SONDE_API_URL to the service's address");
  return createApi({ url, ...keyOf(settings) });
}

/** The service's address on this machine. Throws if it is not known, and says what to set. */
export function localUrl({ host, port }: Config, toSet: string): string {
  if (port === 0) throw invalid(`SONDE_PORT=0 names no port: set ${toSet}`);
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
      `no API key: set SONDE_API_KEY, SONDE_API_KEY_FILE to a file that holds it, or SONDE_DATA_DIR to the folder of the service (cannot read the first key from ${file}: ${code})`,
      { cause },
    );
  }
}
