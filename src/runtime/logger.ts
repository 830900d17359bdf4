// JSON logs on stdout. One line for each finished thing; secrets never reach a line.
import { pino } from "pino";
import type { DestinationStream, LevelWithSilent as LogLevel, Logger } from "pino";

export type { LevelWithSilent as LogLevel, Logger } from "pino";

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

// Wildcards of the redaction match one level each: a secret is found as a field, in an object, or
// one deeper.
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
    redact: { paths: REDACTED, censor: "[redacted]" },
  };
  return destination ? pino(options, destination) : pino(options);
}
