// The log on stdout, with secrets redacted: JSON lines, or lines for people on a terminal.
import { fstatSync } from "node:fs";
import { pino } from "pino";
import type { DestinationStream, LevelWithSilent as LogLevel, Logger } from "pino";
import { createLineWriter } from "./line-writer.ts";
import type { Terminal } from "./pretty-log.ts";

export type { DestinationStream, LevelWithSilent as LogLevel, Logger } from "pino";

export type LogFormat = "json" | "pretty";

/** What a process logs, and how; passed on to its threads. */
export interface LogSettings {
  readonly level: LogLevel;
  readonly format: LogFormat;
  readonly terminal?: Terminal;
}

const SECRET_FIELDS = [
  "authorization",
  "Authorization",
  "cookie",
  "Cookie",
  '["set-cookie"]',
  '["x-api-key"]',
  "api_key",
  "access_token",
  "refresh_token",
  "token_secret",
  "client_secret",
  "password",
  "ssl_key",
  "body",
];

// Each wildcard matches one level, so secrets are redacted in objects nested up to three deep.
const REDACTED = ["", "*", "*.*", "*.*.*"].flatMap((prefix) =>
  SECRET_FIELDS.map((field) =>
    prefix === "" || field.startsWith("[") ? `${prefix}${field}` : `${prefix}.${field}`,
  ),
);

export function createLogger(level: LogLevel, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: {},
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: errorFields },
    redact: { paths: REDACTED, censor: "[redacted]" },
  };
  return destination ? pino(options, destination) : pino(options);
}

/** Leaves out properties that libraries attach to errors, such as a database client. */
function errorFields(err: unknown): unknown {
  if (!(err instanceof Error)) return err;
  const { type, stack } = pino.stdSerializers.err(err);
  const { code } = err as NodeJS.ErrnoException;
  return { type, message: messageOf(err), ...(code !== undefined && { code }), stack };
}

/** With the messages of its causes, except those that it quotes. */
function messageOf(err: Error): string {
  let { message, cause } = err;
  for (const seen = new Set<unknown>([err]); cause instanceof Error && !seen.has(cause);) {
    seen.add(cause);
    if (!message.includes(cause.message)) message += `: ${cause.message}`;
    ({ cause } = cause);
  }
  return message;
}

export interface Log {
  readonly log: Logger;
  /** Writes text among the lines without waiting for its reader; undefined in JSON. */
  readonly print?: (text: string) => void;
}

/** Opens the log of this process or thread. Loads the formatter for people only when it is used. */
export async function openLog({ level, format, terminal }: LogSettings): Promise<Log> {
  if (format === "json") {
    const output = boundedOutput((lines) =>
      log.warn({ lines }, "log lines left out while nobody read them"),
    );
    const log = createLogger(level, output);
    return { log };
  }
  const { createPrettyOutput } = await import("./pretty-log.ts");
  const { destination, print } = createPrettyOutput(terminal);
  return { log: createLogger(level, destination), print };
}

/**
 * If stdout is a file or a pipe, an output that leaves out what a full disk or a stalled reader
 * does not take. With pino's own, an ending process would wait for them without a limit.
 */
function boundedOutput(onMissing: (lines: number) => void): DestinationStream | undefined {
  const stdout = fstatSync(1);
  return stdout.isFile() || stdout.isFIFO() ? createLineWriter(1, onMissing) : undefined;
}

/** `auto`: lines for people on a terminal, otherwise JSON. */
export function logSettingsOf(level: LogLevel, format: LogFormat | "auto"): LogSettings {
  const { isTTY: isTerminal, columns } = process.stdout;
  if (!isTerminal) return { level, format: format === "pretty" ? "pretty" : "json" };
  return {
    level,
    format: format === "auto" ? "pretty" : format,
    terminal: { hasColors: process.stdout.hasColors(), columns },
  };
}
