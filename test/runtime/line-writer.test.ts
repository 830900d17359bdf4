// Writes lines to a pipe whose reader pauses: the writer never waits, and says what it left out.
import { execFileSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createLineWriter } from "../../src/runtime/line-writer.ts";

const MIB = 1024 * 1024;

/** Opens a named pipe: both ends, and a function that reads what is there. */
function openPipe() {
  const folder = mkdtempSync(join(tmpdir(), "sonde-pipe-"));
  const path = join(folder, "pipe");
  execFileSync("mkfifo", [path]);
  const reading = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writing = openSync(path, constants.O_WRONLY);
  onTestFinished(() => {
    closeSync(writing);
    rmSync(folder, { recursive: true });
  });
  const buffer = Buffer.alloc(MIB);
  const read = (): string => {
    try {
      return buffer.toString("utf8", 0, readSync(reading, buffer));
    } catch {
      return ""; // nothing to read
    }
  };
  return { writing, read, leave: () => closeSync(reading) };
}

it("writes lines in order", () => {
  const pipe = openPipe();
  const writer = createLineWriter(pipe.writing);
  writer.write("one\n");
  writer.write("two\n");
  expect(pipe.read()).toBe("one\ntwo\n");
  writer.close();
});

it("keeps lines for a paused reader, then drops lines and says how many", async () => {
  const pipe = openPipe();
  const writer = createLineWriter(pipe.writing);
  const line = `${"x".repeat(99)}\n`;
  const count = 30_000; // 3 MB: more than the pipe and the writer hold together
  for (let n = 0; n < count; n += 1) writer.write(line);
  let text = "";
  await expect
    .poll(() => (text += pipe.read()), { interval: 5, timeout: 10_000 })
    .toMatch(/left out/);
  const [, leftOut = ""] = /… (\d+) lines left out while nobody read them\n$/.exec(text) ?? [];
  const whole = text.split("\n").filter((each) => each === line.trimEnd());
  expect(whole.length + Number(leftOut)).toBe(count);
  expect(whole.length).toBeGreaterThan(MIB / 100);
  writer.close();
});

it("drops no line if its reader has made room, however busy the writer is", async () => {
  const pipe = openPipe();
  const leftOut: number[] = [];
  const writer = createLineWriter(pipe.writing, (lines) => leftOut.push(lines));
  const line = `${"x".repeat(4095)}\n`;
  const write = (lines: number): void => {
    for (let n = 0; n < lines; n += 1) writer.write(line);
  };
  write(272); // 64 KiB, which fill the pipe, and 1 MiB, which waits
  let text = pipe.read();
  write(16);
  const read = (): unknown => [(text += pipe.read()).length / line.length, leftOut];
  await expect.poll(read, { interval: 5, timeout: 10_000 }).toEqual([272 + 16, []]);
  writer.close();
});

it("leaves it to its owner to say how many lines it dropped", async () => {
  const pipe = openPipe();
  let text = "";
  const writer = createLineWriter(pipe.writing, (lines) => writer.write(`{"lines":${lines}}\n`));
  for (let n = 0; n < 30_000; n += 1) writer.write(`${"x".repeat(99)}\n`);
  await expect
    .poll(() => (text += pipe.read()), { interval: 5, timeout: 10_000 })
    .toMatch(/x\n\{"lines":\d{4,}\}\n$/);
  writer.close();
});

it("continues when its reader has gone", () => {
  const pipe = openPipe();
  const writer = createLineWriter(pipe.writing);
  pipe.leave();
  expect(() => writer.write("nobody reads this\n")).not.toThrow();
  writer.close();
});
