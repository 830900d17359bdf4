// Formats the bodies of a result, and the time that its certificate had left.
import { count } from "../../../../src/model/count.ts";

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** Deeper nesting is mostly white space once it is indented. */
const MOST_DEPTH = 100;

/**
 * Indents a JSON object or array; undefined if the text is neither. Only white space changes:
 * numbers, escapes, duplicate names and the order of properties stay as they were sent.
 */
export function prettyJson(text: string): string | undefined {
  if (!isObjectOrArray(text)) return undefined;
  let [pretty, previous, depth] = ["", "", 0];
  for (const [token] of text.matchAll(TOKEN)) {
    const isFirst = previous === "{" || previous === "[";
    const isEnd = token === "}" || token === "]";
    if (isEnd) depth -= 1;
    if (isFirst !== isEnd || previous === ",") pretty += `\n${"  ".repeat(depth)}`;
    else if (previous === ":") pretty += " ";
    if (token === "{" || token === "[") depth += 1;
    if (depth > MOST_DEPTH) return undefined;
    pretty += token;
    previous = token;
  }
  return pretty;
}

function isObjectOrArray(text: string): boolean {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === "object" && value !== null;
  } catch {
    return false;
  }
}

/** `days` are whole ones, rounded down: -1 is up to a day after the expiry. */
export function daysText(days: number): string {
  if (days >= 0) return count(days, "day");
  return `Expired ${days === -1 ? "less than a day" : count(-days - 1, "day")} before`;
}
