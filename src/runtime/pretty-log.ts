// The log for people: a line has the time of day, the level, the role, what happened, and the facts
// as `name=value`. pino-pretty parses the lines and colours them; words and layout are ours.
import { isatty } from "node:tty";
import { styleText } from "node:util";
import PinoPretty from "pino-pretty";
import { createLineWriter } from "./line-writer.ts";
import { factsOf, printable, textOf } from "./log-facts.ts";
import type { Fact, LogFields } from "./log-facts.ts";

/** As found at the process's start: its threads cannot ask. */
export interface Terminal {
  readonly hasColors: boolean;
  readonly columns: number | undefined;
}

const COLOURS = "trace:gray,debug:blue,info:green,warn:yellow,error:red,fatal:bgRed,message:reset";
const LONGEST_ROLE = "aggregator".length;
/** `12:00:00  INFO: `, and the role. */
const INDENT = 16 + LONGEST_ROLE + 1;
/** A narrower terminal's own line breaks read better. */
const MIN_COLUMNS = INDENT + 40;

/** Writes lines for people to stdout. `terminal`: undefined if stdout is not a terminal. */
export function createPrettyOutput(terminal: Terminal | undefined) {
  const writer = createLineWriter(1);
  // Only the main thread learns that the window was resized.
  const columns = (): number | undefined =>
    isatty(1) ? (process.stdout.columns ?? terminal?.columns) : undefined;
  const format = createPrettyFormat({ hasColors: terminal?.hasColors ?? false, columns });
  return {
    destination: { write: (line: string) => writer.write(format(line)) },
    print: (text: string) => writer.write(text),
  };
}

export interface PrettyOptions {
  readonly hasColors: boolean;
  /** Undefined: lines do not wrap. */
  readonly columns: () => number | undefined;
}

/** Creates a formatter that turns a JSON line into a line for people. */
export function createPrettyFormat({ hasColors, columns }: PrettyOptions) {
  const dim = (text: string): string =>
    hasColors ? styleText("dim", text, { validateStream: false }) : text;
  const facts = factsOf();
  return PinoPretty.prettyFactory({
    colorize: hasColors,
    customColors: COLOURS,
    useOnlyCustomProps: false,
    hideObject: true,
    translateTime: "SYS:HH:MM:ss",
    ignore: "pid,hostname", // which pino-pretty would put before the message
    customPrettifiers: {
      time: (time) => dim(textOf(time)),
      level: (level, _key, _log, { labelColorized, label }) =>
        `${" ".repeat(Math.max(0, 5 - label.length))}${labelColorized || textOf(level)}`,
    },
    messageFormat: (fields) => {
      const role = printable(textOf(fields["role"] ?? "sonde")).padEnd(LONGEST_ROLE);
      const words = printable(textOf(fields["msg"] ?? "")).split(" ");
      const parts = [...words.map((word) => ({ name: "", value: word })), ...facts(fields)];
      return `${dim(role)} ${wrap(parts, columns(), dim)}${errorOf(fields, dim)}`;
    },
  });
}

/** Breaks lines only between words and facts; leaves longer ones to the terminal. */
function wrap(
  parts: readonly Fact[],
  columns: number | undefined,
  dim: (text: string) => string,
): string {
  const room = columns !== undefined && columns >= MIN_COLUMNS ? columns - INDENT : Infinity;
  let [text, used, wasFact] = ["", 0, false];
  for (const { name, value } of parts) {
    const shown = name === "" ? value : `${dim(`${name}=`)}${value}`;
    const length = name.length + (name === "" ? 0 : 1) + value.length;
    const gap = name !== "" && !wasFact ? 2 : 1;
    if (used > 0 && used + gap + length > room) {
      text += `\n${" ".repeat(INDENT)}${shown}`;
      used = length;
    } else {
      text += used === 0 ? shown : `${" ".repeat(gap)}${shown}`;
      used += (used === 0 ? 0 : gap) + length;
    }
    wasFact = name !== "";
  }
  return text;
}

/** Formats an error with its causes, and its stack where a person must act. */
function errorOf({ level, err }: LogFields, dim: (text: string) => string): string {
  if (typeof err !== "object" || err === null) return "";
  const { type, message, stack, code } = err as Record<string, unknown>;
  const isGrave = level === "error" || level === "fatal";
  const frames = isGrave ? textOf(stack).split("\n").filter(isFrame) : [];
  const text = `${textOf(type ?? "Error")}: ${textOf(message ?? "")}`;
  const coded = code === undefined || text.includes(textOf(code)) ? "" : ` (${textOf(code)})`;
  const head = `${text}${coded}`.split("\n");
  const lines = [...head.map(printable), ...frames.map((frame) => dim(printable(frame.trim())))];
  return lines.map((line) => `\n    ${line}`).join("");
}

const isFrame = (line: string): boolean => /^\s+at |^caused by: /.test(line);
