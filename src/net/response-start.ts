// Filters the start of a response for undici: drops interim responses (RFC 9110 section 15.2), some
// of which undici treats as faults, passes the status line in one piece, because undici keeps only
// the last piece, and unfolds headers, because undici rejects folded ones.
import type { Socket } from "node:net";

export interface StartEvents {
  /** Called for each piece of the start, before any is withheld. */
  readonly onFirstByte?: () => void;
  /** Called with what is too large; nothing more is read. */
  readonly onExcess: (what: string) => void;
}

/** Call it before anything is read. */
export function watchStart(socket: Socket, { onFirstByte, onExcess }: StartEvents): void {
  const read = socket.read.bind(socket);
  const filter = createStartFilter();
  socket.read = (size?: number): unknown => {
    for (;;) {
      const chunk: unknown = read(size);
      if (!Buffer.isBuffer(chunk)) return chunk;
      onFirstByte?.();
      const passed = filter.pass(chunk);
      if (typeof passed === "string") {
        onExcess(passed);
        return null;
      }
      if (filter.isDone()) socket.read = read;
      if (passed.length > 0) return passed;
    }
  };
}

const MAX_INTERIM_RESPONSES = 20;
/** For a status line or an interim response: each new piece rescans all of it. */
const MAX_WITHHELD_BYTES = 16 * 1024;

const NOTHING = Buffer.alloc(0);
const END_OF_HEAD = "\r\n\r\n";
const PROTOCOL = "HTTP/1.";
// 101 ends HTTP on the connection.
const INTERIM = /^HTTP\/1\.\d 1(?!01)\d\d(?: .*)?\r\n$/;

export function createStartFilter() {
  let withheld: Buffer = NOTHING;
  let interims = 0;
  let isOther = false;
  let isFinal = false;
  let isPassed = false;
  const headers = createUnfolder();

  /** Returns whether the next interim response was complete. */
  const dropInterim = (): boolean => {
    const line = firstOf(withheld);
    isOther = !mayBeStatusLine(line);
    isFinal = isOther || (line.endsWith("\n") && !INTERIM.test(line));
    const end = isFinal ? -1 : withheld.indexOf(END_OF_HEAD);
    if (end < 0) return false;
    withheld = withheld.subarray(end + END_OF_HEAD.length);
    interims += 1;
    return true;
  };

  return {
    /** True once the final head has ended, or something other than HTTP has begun. */
    isDone: (): boolean => isPassed || headers.isDone(),
    /** Returns what undici may read now, or a text naming what is too large. */
    pass(chunk: Buffer): Buffer | string {
      if (isPassed) return chunk;
      if (isFinal) return headers.pass(chunk);
      withheld = withheld.length === 0 ? chunk : Buffer.concat([withheld, chunk]);
      while (dropInterim())
        if (interims > MAX_INTERIM_RESPONSES)
          return `more than ${MAX_INTERIM_RESPONSES} interim responses`;
      if (isFinal) {
        isPassed = isOther || isPlain(withheld);
        if (isPassed) return withheld;
        const start = withheld.indexOf("\n") + 1;
        return Buffer.concat([withheld.subarray(0, start), headers.pass(withheld.subarray(start))]);
      }
      return withheld.length > MAX_WITHHELD_BYTES
        ? `a status line or an interim response of more than ${MAX_WITHHELD_BYTES} bytes`
        : NOTHING;
    },
  };
}

/** Whether the head is whole and has no folded line, as nearly all arrive. */
function isPlain(bytes: Buffer): boolean {
  const end = bytes.indexOf(END_OF_HEAD);
  return end >= 0 && !/\n[ \t]/.test(bytes.toString("latin1", 0, end));
}

/** A folded line (RFC 9112 section 5.2); nginx writes a bare LF in a header that has one. */
const FOLD = /\r?\n[ \t]+/g;
const END_OF_HEADERS = /\r?\n\r?\n/;
/** At the end of a piece: what follows may be a folded line, or the end of the headers. */
const LAST_BREAK = /(?:\r?\n)?\r?$/;

/** Joins folded lines after the status line, until the headers have ended. */
function createUnfolder() {
  // The break of the status line, which has been passed.
  let held = "\r\n";
  /** How much of `held` has been passed on. */
  let passed = held.length;
  let done = false;
  return {
    isDone: (): boolean => done,
    pass(chunk: Buffer): Buffer {
      if (done) return chunk;
      const text = held + chunk.toString("latin1");
      const end = text.search(END_OF_HEADERS);
      done = end >= 0;
      const size = done ? end : text.search(LAST_BREAK);
      held = text.slice(size);
      const lines = text.slice(passed, size).replace(FOLD, " ");
      const rest = done ? text.slice(Math.max(passed, size)) : "";
      if (size >= passed) passed = 0;
      return Buffer.from(lines + rest, "latin1");
    },
  };
}

/** The first line; before its line break arrives, at most the length of `PROTOCOL`. */
const firstOf = (bytes: Buffer): string =>
  bytes.toString(
    "latin1",
    0,
    bytes.subarray(0, MAX_WITHHELD_BYTES).indexOf("\n") + 1 || PROTOCOL.length,
  );

const mayBeStatusLine = (line: string): boolean =>
  PROTOCOL.startsWith(line.slice(0, PROTOCOL.length));
