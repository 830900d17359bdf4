// The start of what a server sends, as undici can take it: without a 100 Continue that nobody asked for, which a client
// is to pass over (RFC 9110 section 15.2), and with a status line in one piece, of which undici keeps the last one.
import type { Socket } from "node:net";

/**
 * To be called before anything is read. Beyond the limits below, what comes is read as it is. `onFirstByte` is told at
 * once of what is withheld, too.
 */
export function watchStart(socket: Socket, onFirstByte: () => void): void {
  const read = socket.read.bind(socket);
  const filter = createStartFilter();
  socket.read = (size?: number): unknown => {
    for (;;) {
      const chunk: unknown = read(size);
      if (!Buffer.isBuffer(chunk)) return chunk;
      onFirstByte();
      const passed = filter.pass(chunk);
      if (filter.isDone()) socket.read = read;
      if (passed.length > 0) return passed;
    }
  };
}

export interface StartFilter {
  /** Of all that came so far, what may be read now. */
  pass(chunk: Buffer): Buffer;
  /** Whether what follows is to be read as it is: the final response has begun, or what is none. */
  isDone(): boolean;
}

// Looked through again with each piece that comes.
const MAX_WITHHELD_BYTES = 16 * 1024;
const MAX_PASSED_OVER = 20;

const NOTHING = Buffer.alloc(0);
const END_OF_HEAD = "\r\n\r\n";
const PROTOCOL = "HTTP/1.";
const STATUS_LINE = `${PROTOCOL}1 100`;

export function createStartFilter(): StartFilter {
  let withheld: Buffer = NOTHING;
  let passedOver = 0;
  let done = false;

  /** The interim response that comes next; undefined where it is not whole yet. */
  const takeInterim = (): Buffer | undefined => {
    const end = withheld.indexOf(END_OF_HEAD);
    if (end < 0) return undefined;
    const interim = withheld.subarray(0, end + END_OF_HEAD.length);
    withheld = withheld.subarray(interim.length);
    return interim;
  };

  /** What may be read of the next interim response; undefined where there is none to take. */
  const passNext = (): Buffer | undefined => {
    const start = withheld.toString("latin1", 0, STATUS_LINE.length);
    const interim = mayBeInterim(start) ? takeInterim() : undefined;
    if (!interim) {
      const isWhole = !mayBeInterim(start) && !isCutShort(withheld);
      done = isWhole || withheld.length > MAX_WITHHELD_BYTES;
      return undefined;
    }
    if (start !== STATUS_LINE) return interim;
    passedOver += 1;
    done = passedOver >= MAX_PASSED_OVER;
    return NOTHING;
  };

  return {
    isDone: () => done,
    pass(chunk) {
      if (done) return chunk;
      withheld = joined([withheld, chunk]);
      const passed: Buffer[] = [];
      for (let next = passNext(); next; next = done ? undefined : passNext())
        passed.push(next);
      return joined(done ? [...passed, withheld] : passed);
    },
  };
}

/** `start` may be less than a status line. 101 is no interim response to what asks for no upgrade. */
const mayBeInterim = (start: string): boolean =>
  start.length < STATUS_LINE.length
    ? STATUS_LINE.startsWith(start)
    : /^HTTP\/1\.1 1(?!01)\d\d$/.test(start);

const isCutShort = (line: Buffer): boolean =>
  line.toString("latin1", 0, PROTOCOL.length) === PROTOCOL &&
  !line.includes("\n");

const joined = (buffers: readonly Buffer[]): Buffer => {
  const [first = NOTHING, ...others] = buffers.filter(
    ({ length }) => length > 0,
  );
  return others.length === 0 ? first : Buffer.concat([first, ...others]);
};
