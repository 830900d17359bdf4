// Prints objects and lists: on a terminal for people, otherwise for programs.
import { styleText } from "node:util";
import type { Json } from "../client/api.ts";
import { tableOf } from "../client/table.ts";
import type { Column, Screen } from "../client/table.ts";
import { harmlessJson, harmlessLines } from "../client/text.ts";
import type { ListOptions } from "./api-client.ts";
import { say } from "./command.ts";
import type { Context } from "./command.ts";

/** Colours only where stdout is a terminal, and NO_COLOR is not set. */
export const screenOf = (): Screen => ({
  width: process.stdout.isTTY ? process.stdout.columns || undefined : undefined,
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
  items: AsyncIterable<Json> | Iterable<Json>,
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
  if (count === 0) say(`no ${noun}`);
  if (count > limit) say(`there are more ${noun}: raise --limit to see them`);
}
