// Writes lines to a terminal, a pipe or a file without ever waiting for their reader or for room: a
// paused terminal (Ctrl-S, a selection in it) must not hold up the calls that a thread times.
import { closeSync, constants, fstatSync, openSync, writeSync } from "node:fs";
import { isatty } from "node:tty";

const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
/** Buffer for a paused reader; further lines are dropped. */
const MAX_WAITING_BYTES = 1024 * 1024;
const RETRY_MS = 50;
/** How long an ending process waits for a paused reader. */
const LAST_WAIT_MS = 500;
const LAST_RETRY_MS = 10;

/** `onMissing`: called once lines are read again, with how many were left out; default: a line. */
export function createLineWriter(fd: number, onMissing?: (lines: number) => void) {
  const own = reopen(fd);
  const target = own ?? fd;
  let waiting: Buffer[] = [];
  let [bytes, leftOut] = [0, 0];
  let timer: NodeJS.Timeout | undefined;

  /** Writes what the reader accepts now. */
  const flush = (): void => {
    while (waiting[0]) {
      const taken = tryWrite(target, waiting[0]);
      if (taken === "paused") break;
      const rest = waiting[0].subarray(taken === "gone" ? waiting[0].length : taken);
      bytes -= waiting[0].length - rest.length;
      if (rest.length > 0) waiting[0] = rest;
      else waiting.shift();
    }
    if (waiting.length > 0) timer ??= setInterval(flush, RETRY_MS).unref();
    else resume();
  };
  const resume = (): void => {
    clearInterval(timer);
    timer = undefined;
    const missing = leftOut;
    leftOut = 0;
    if (missing === 0) return;
    if (onMissing) onMissing(missing);
    else add(`… ${missing} lines left out while nobody read them\n`);
  };
  const add = (line: string): void => {
    const buffer = Buffer.from(line);
    const isFull = (): boolean => bytes + buffer.length > MAX_WAITING_BYTES;
    if (isFull()) flush(); // a burst leaves the timer no turn
    if (isFull()) {
      leftOut += 1;
      return;
    }
    waiting.push(buffer);
    bytes += buffer.length;
    if (!timer) flush();
  };
  const last = (): void => {
    for (let left = LAST_WAIT_MS; left > 0 && bytes > 0; left -= LAST_RETRY_MS) {
      flush();
      if (bytes > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LAST_RETRY_MS);
    }
  };
  process.on("exit", last);
  return {
    /** The line is written on return, unless the reader has paused. Never throws. */
    write: add,
    close(): void {
      process.off("exit", last);
      last();
      clearInterval(timer);
      waiting = [];
      if (own !== undefined) closeSync(own);
    },
  };
}

/**
 * Reopens the terminal or pipe: only our own writes become non-blocking. Undefined for outputs that
 * never block or cannot be reopened.
 */
function reopen(fd: number): number | undefined {
  try {
    if (!isatty(fd) && !fstatSync(fd).isFIFO()) return undefined;
    return openSync(`/dev/fd/${fd}`, O_WRONLY | O_NONBLOCK | O_NOCTTY);
  } catch {
    return undefined;
  }
}

/** Returns how many bytes were written. A reader that has gone, or a full disk, accepts none. */
function tryWrite(fd: number, buffer: Buffer): number | "paused" | "gone" {
  try {
    return writeSync(fd, buffer);
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === "EAGAIN" ? "paused" : "gone";
  }
}
