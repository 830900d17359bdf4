// Filters the start of a response for undici: drops an unsolicited 100 Continue, which a client
// should ignore (RFC 9110 section 15.2), and passes a status line on in one piece, because undici
// keeps only the last piece.
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
/** For a status line or an interim response: each new piece rescans the whole. */
const MAX_WITHHELD_BYTES = 16 * 1024;

const NOTHING = Buffer.alloc(0);
const END_OF_HEAD = "\r\n\r\n";
const PROTOCOL = "HTTP/1.";
// 101 ends HTTP on the connection.
const INTERIM = /^HTTP\/1\.\d 1(?!01)\d\d(?: .*)?\r\n$/;
const CONTINUE = /^HTTP\/1\.\d 100[ \r]/;

export function createStartFilter() {
  let withheld: Buffer = NOTHING;
  let interims = 0;
  let done = false;

  /** What undici may read of the next interim response; undefined until that is complete. */
  const passInterim = (): Buffer | undefined => {
    const line = firstOf(withheld);
    done = !mayBeStatusLine(line) || (isWhole(line) && !INTERIM.test(line));
    const end = done ? -1 : withheld.indexOf(END_OF_HEAD);
    if (end < 0) return undefined;
    const interim = withheld.subarray(0, end + END_OF_HEAD.length);
    withheld = withheld.subarray(interim.length);
    interims += 1;
    return CONTINUE.test(line) ? NOTHING : interim;
  };

  return {
    /** True once the final response, or something that is not HTTP, has begun. */
    isDone: (): boolean => done,
    /** Returns what undici may read now, or a text that says what is too large. */
    pass(chunk: Buffer): Buffer | string {
      if (done) return chunk;
      withheld = joined([withheld, chunk]);
      const passed: Buffer[] = [];
      for (let next = passInterim(); next; next = passInterim()) {
        if (interims > MAX_INTERIM_RESPONSES)
          return `more than ${MAX_INTERIM_RESPONSES} interim responses`;
        passed.push(next);
      }
      if (done) return joined([...passed, withheld]);
      return withheld.length > MAX_WITHHELD_BYTES
        ? `a status line or an interim response of more than ${MAX_WITHHELD_BYTES} bytes`
        : joined(passed);
    },
  };
}

/** The first line; until its line break arrives, no more of it than the length of `PROTOCOL`. */
const firstOf = (bytes: Buffer): string =>
  bytes.toString(
    "latin1",
    0,
    bytes.subarray(0, MAX_WITHHELD_BYTES).indexOf("\n") + 1 || PROTOCOL.length,
  );

const isWhole = (line: string): boolean => line.endsWith("\n");

const mayBeStatusLine = (line: string): boolean =>
  PROTOCOL.startsWith(line.slice(0, PROTOCOL.length));

const joined = (buffers: readonly Buffer[]): Buffer => {
  const [first = NOTHING, ...others] = buffers.filter(({ length }) => length > 0);
  return others.length === 0 ? first : Buffer.concat([first, ...others]);
};
