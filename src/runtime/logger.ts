// JSON logs on stdout, with secrets redacted.
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

// Each wildcard matches one level: secrets are redacted down to the third level of objects.
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
