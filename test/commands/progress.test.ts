// What a long command shows on stderr while it works.
import { expect, it } from "vitest";
import { createProgress } from "../../src/commands/progress.ts";

/** Erases the line of a terminal. */
const AGAIN = "\r\u001B[K";

it.each([
  [undefined, false, "", /^removing 3 rows, \d+ rows\/s\n$/],
  [undefined, true, AGAIN, /^removing 3 rows, \d+ rows\/s\n$/],
  [4, false, "", /^removing 75 %, 3 of 4 rows, \d+ rows\/s.*\n$/],
  [4, true, AGAIN, /^\[#{23}\.{7}\] removing 75 %, 3 of 4 rows, \d+ rows\/s.*\n$/],
])("shows progress with a total of %s, on a terminal: %s", (total, isTTY, before, shown) => {
  const { output, text } = recorded(isTTY);
  const progress = createProgress({ label: "removing", total, unit: "rows", output });
  progress.advance(3);
  progress.end();
  expect(text().slice(0, before.length)).toBe(before);
  expect(text().slice(before.length)).toMatch(shown);
});

it.each([
  [true, AGAIN],
  [false, ""],
])("makes way for the command's own lines, on a terminal: %s", (isTTY, written) => {
  const { output, text } = recorded(isTTY);
  createProgress({ label: "removing", total: 4, unit: "rows", output }).hide();
  expect(text()).toBe(written);
});

function recorded(isTTY: boolean) {
  let text = "";
  const write = (more: string): boolean => {
    text += more;
    return true;
  };
  const output = { isTTY, write } as Pick<NodeJS.WriteStream, "isTTY" | "write">;
  return { output, text: () => text };
}
