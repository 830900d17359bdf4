// Exports rows as CSV or NDJSON: reads them in small pages, and sends each as it is read.
import { setImmediate as nextTurn } from "node:timers/promises";
import type { TSchema } from "typebox";
import { csvHeader, csvRecords } from "../model/csv.ts";
import type { Column } from "../model/csv.ts";
import type { Principal } from "../model/access.ts";
import { AppError } from "../model/errors.ts";
import { Type } from "../model/type.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Store } from "../store/store.ts";
import { choice } from "./http/parameters.ts";
import type { Media, StreamedAnswer } from "./http/streamed-answer.ts";
import { anOwner, createPlaces, inTotal } from "./places.ts";
import type { PlaceLimit } from "./places.ts";
import { isStillValid } from "./sessions.ts";

const FORMATS = ["csv", "ndjson"] as const;
export type ExportFormat = (typeof FORMATS)[number];

export const FORMAT = choice("format of the answer", FORMATS, "csv");

const CONTENT_TYPES: Readonly<Record<ExportFormat, string>> = {
  csv: "text/csv; charset=utf-8; header=present",
  ndjson: "application/x-ndjson",
};

/** Rows to read at once: as many as occupy the thread for a few milliseconds. */
export interface Pace {
  readonly limit: number;
}

export interface Export {
  readonly principal: Principal;
  /** The secret of the caller's session, if the request came with one. */
  readonly session: string | undefined;
  readonly format: ExportFormat;
  /** The file's name without its extension: letters, digits and `-`. */
  readonly name: string;
  readonly columns: readonly Column[];
  /** The rows, in pages of at most `limit`. Ends early when the caller leaves. */
  readonly pages: (pace: Pace) => AsyncIterable<readonly object[]>;
}

const LIMITS: readonly PlaceLimit[] = [
  {
    groupOf: anOwner,
    most: 2,
    full: (held) => `${held} of your exports are running, the maximum at a time`,
  },
  {
    groupOf: inTotal,
    most: 8,
    full: (held) => `${held} exports are running, the maximum at a time`,
  },
];

export type Exports = ReturnType<typeof createExports>;

/** How often to recheck the key and the session: an export ends within a minute after them. */
const CHECK_EVERY_MS = 45_000;

export interface ExportsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly sessionIdleMs: number;
}

export function createExports(options: ExportsOptions) {
  const places = createPlaces(LIMITS);
  return {
    stream: (made: Export): StreamedAnswer => ({
      contentType: CONTENT_TYPES[made.format],
      filename: `${made.name}.${made.format}`,
      async *text() {
        const release = places.take(made.principal);
        try {
          yield* whileValid(options, made, textOf(made));
        } finally {
          release();
        }
      },
    }),
  };
}

/** Throws once the key is revoked or the session has ended; an export keeps its session open. */
async function* whileValid(
  { store, clock, sessionIdleMs: idleMs }: ExportsOptions,
  { principal, session }: Export,
  text: AsyncIterable<string>,
): AsyncGenerator<string> {
  let checked = clock.monotonic();
  for await (const part of text) {
    if (clock.monotonic() - checked >= CHECK_EVERY_MS) {
      if (!(await isStillValid(store, principal, session, { idleMs, isUse: true })))
        throw new AppError("unauthenticated", "the key was revoked, or the session has ended");
      checked = clock.monotonic();
    }
    yield part;
  }
}

/**
 * Target time for which a page occupies the thread: the beat and other requests wait for it.
 * Waiting for a database server does not count.
 */
const TURN_MS = 5;
const [FEWEST, FIRST, MOST] = [8, 32, 1024];

async function* textOf({ format, columns, pages }: Export): AsyncGenerator<string> {
  const toLine =
    format === "csv" ? csvRecords(columns) : (row: object) => JSON.stringify(row) + "\n";
  const pace = { limit: FIRST };
  let text = format === "csv" ? csvHeader(columns) : "";
  let before = performance.eventLoopUtilization();
  for await (const page of pages(pace)) {
    for (const row of page) text += toLine(row);
    pace.limit = paced(pace.limit, performance.eventLoopUtilization(before).active);
    if (text !== "") yield text;
    text = "";
    await nextTurn();
    before = performance.eventLoopUtilization();
  }
  if (text !== "") yield text;
}

/** At most doubles or halves the limit: other work may have occupied the thread too. */
function paced(limit: number, busyMs: number): number {
  const factor = Math.min(2, Math.max(0.5, TURN_MS / Math.max(busyMs, 0.01)));
  return Math.round(Math.min(MOST, Math.max(FEWEST, limit * factor)));
}

/** The media types of an export of rows of this schema, for the OpenAPI document. */
export const mediaOf = (
  row: TSchema,
  columns: readonly Column[],
): Readonly<Record<string, Media>> => ({
  "text/csv": {
    schema: Type.String({ description: `the columns ${columns.join(", ")}` }),
    example: (of: unknown) => csvHeader(columns) + csvRecords(columns)(of as object),
  },
  "application/x-ndjson": { schema: row, example: (of: unknown) => of },
});
