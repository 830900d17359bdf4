// Reads what a command is given in a file or on stdin.
import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import type { Json } from "../client/api.ts";
import { invalid } from "../model/errors.ts";
import { isObject } from "../model/json.ts";
import { show } from "../model/validate.ts";

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
    if (isObject(value)) return value;
  } catch (cause) {
    const why = (cause as Error).message.replaceAll(/\s+/g, " ");
    throw invalid(`--file: ${show(file)} is not JSON (${why})`, { cause });
  }
  throw invalid(`--file: ${show(file)} is not a JSON object`);
}
