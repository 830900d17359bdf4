// Filters the start of a response for undici: drops interim responses (RFC 9110 section 15.2), some
// of which undici treats as faults, and passes the status line in one piece, because undici keeps
// only the last piece.
import type { Socket } from "node:net";
import { CallFailure } from "./failure.ts";

export interface StartEvents {
  /** Called for each piece of the start, before any is withheld. */
  readonly onFirstByte: () => void;
  readonly onFailure: (failure: CallFailure) => void;
}

/** Call it before anything is read. */
export function watchStart(socket: Socket, { onFirstByte, onFailure }: StartEvents): void {
  const read = socket.read.bind(socket);
  const filter = createStartFilter();
  socket.read = (size?: number): unknown => {
    for (;;) {
      const chunk: unknown = read(size);
      if (!Buffer.isBuffer(chunk)) return chunk;
      onFirstByte();
      const passed = filter.pass(chunk);
      if (typeof passed === "string") {
        onFailure(new CallFailure("too_large", passed));
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
  let done = false;

  /** Returns whether the next interim response was complete. */
  const dropInterim = (): boolean => {
    const line = firstOf(withheld);
    done = !mayBeStatusLine(line) || (isWhole(line) && !INTERIM.test(line));
    const end = done ? -1 : withheld.indexOf(END_OF_HEAD);
    if (end < 0) return false;
    withheld = withheld.subarray(end + END_OF_HEAD.length);
    interims += 1;
    return true;
  };

  return {
    /** True once the final response, or something other than HTTP, has begun. */
    isDone: (): boolean => done,
    /** Returns what undici may read now, or a text naming what is too large. */
    pass(chunk: Buffer): Buffer | string {
      if (done) return chunk;
      withheld = withheld.length === 0 ? chunk : Buffer.concat([withheld, chunk]);
      while (dropInterim())
        if (interims > MAX_INTERIM_RESPONSES)
          return `more than ${MAX_INTERIM_RESPONSES} interim responses`;
      if (done) return withheld;
      return withheld.length > MAX_WITHHELD_BYTES
        ? `a status line or an interim response of more than ${MAX_WITHHELD_BYTES} bytes`
        : NOTHING;
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

const isWhole = (line: string): boolean => line.endsWith("\n");

const mayBeStatusLine = (line: string): boolean =>
  PROTOCOL.startsWith(line.slice(0, PROTOCOL.length));
