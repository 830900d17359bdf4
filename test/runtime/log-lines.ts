// A logger whose lines a test can read.
import { createLogger } from "../../src/runtime/logger.ts";
import type { Logger, LogLevel } from "../../src/runtime/logger.ts";

export interface LogLines {
  readonly log: Logger;
  readonly text: () => string;
  readonly lines: () => Record<string, unknown>[];
}

export function captureLog(level: LogLevel = "debug"): LogLines {
  let text = "";
  const log = createLogger(level, { write: (line) => (text += line) });
  return {
    log,
    text: () => text,
    lines: () =>
      text
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}
