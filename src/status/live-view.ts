// A view that fills the terminal and is redrawn until the user ends it. Closing it restores the
// terminal.
import type { ReadStream, WriteStream } from "node:tty";

export interface Terminal {
  readonly input: Pick<ReadStream, "setRawMode" | "on" | "off" | "resume" | "pause"> & {
    readonly isTTY?: boolean;
  };
  readonly output: Pick<WriteStream, "write" | "columns" | "rows" | "on" | "off">;
}

// https://invisible-island.net/xterm/ctlseqs/ctlseqs.html: the alternate screen, the cursor, and
// wrapping at the end of a line.
const ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEAVE = "\x1b[?7h\x1b[?25h\x1b[?1049l";
const HOME = "\x1b[H";
const CLEAR_LINE = "\x1b[K";
const CLEAR_BELOW = "\x1b[J";

const CTRL_C = "\x03";
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export function openLiveView({ input, output }: Terminal) {
  const controller = new AbortController();
  let shown: readonly string[] = [];
  const end = (): void => controller.abort();
  const onKeys = (keys: Buffer): void => {
    const text = keys.toString();
    if (text.includes(CTRL_C) || /q/i.test(text)) end();
  };
  const draw = (): void => {
    const rows = Math.max(1, (output.rows || 24) - 1);
    const columns = output.columns || 80;
    const lines = shown.slice(0, rows).map((line) => line.slice(0, columns) + CLEAR_LINE);
    output.write(`${HOME}${lines.join("\r\n")}${CLEAR_BELOW}`);
  };

  output.write(ENTER);
  output.on("resize", draw);
  for (const signal of SIGNALS) process.on(signal, end);
  if (input.isTTY) input.setRawMode(true); // keys are not echoed, and arrive without Enter
  input.on("data", onKeys);
  input.resume();
  return {
    /** Aborts on Ctrl-C, on `q`, and on SIGINT, SIGTERM or SIGHUP. */
    ended: controller.signal,
    /** Draws these lines, now and whenever the terminal is resized. */
    show(lines: readonly string[]): void {
      shown = lines;
      draw();
    },
    /** Restores the terminal. */
    close(): void {
      output.off("resize", draw);
      for (const signal of SIGNALS) process.off(signal, end);
      input.off("data", onKeys);
      if (input.isTTY) input.setRawMode(false);
      input.pause();
      output.write(LEAVE);
    },
  };
}
