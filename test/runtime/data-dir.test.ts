// The data folder of a process.
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readFileSync, readdirSync, statSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";
import { openDataDir } from "../../src/runtime/data-dir.ts";
import { makeFolder } from "../support/process.ts";

const FOLDERS = 300;

/**
 * Opens the folders one by one, each at the same moment as its peer: the first to arrive sleeps
 * until the other is there, and both then spin until they have seen each other.
 */
const OPENING = `
  const { parentPort, workerData } = require("node:worker_threads");
  const { source, base, folders, arrived } = workerData;
  import(source).then(({ openDataDir }) => {
    const failures = [];
    for (let n = 0; n < folders; n += 1) {
      const isLast = Atomics.add(arrived, 0, 1) % 2 === 1;
      if (isLast) Atomics.notify(arrived, 0);
      else while (Atomics.load(arrived, 0) === 2 * n + 1) Atomics.wait(arrived, 0, 2 * n + 1);
      Atomics.add(arrived, 1, 1);
      while (Atomics.load(arrived, 1) < 2 * (n + 1));
      try {
        openDataDir(base + "/" + n + "/a/b/c/d");
      } catch (error) {
        failures.push(error.message);
      }
    }
    parentPort.postMessage(failures);
  });
`;

it("is opened by two threads at once, which create the same parent folders", async () => {
  using folder = makeFolder();
  const workerData = {
    source: new URL("../../src/runtime/data-dir.ts", import.meta.url).href,
    base: folder.path,
    folders: FOLDERS,
    arrived: new Int32Array(new SharedArrayBuffer(8)),
  };
  const open = async (): Promise<unknown> => {
    const worker = new Worker(OPENING, { eval: true, workerData });
    const exited = once(worker, "exit"); // may arrive with the message
    const [failures] = await once(worker, "message");
    await exited;
    return failures;
  };
  expect(await Promise.all([open(), open()])).toEqual([[], []]);
});

it("replaces a file atomically: a reader of the old one reads it to its end", () => {
  using folder = makeFolder();
  const dataDir = openDataDir(folder.dataDir);
  dataDir.write("kept", "the old content");
  const old = openSync(dataDir.path("kept"), "r");
  try {
    dataDir.write("kept", "the new");
    expect(readFileSync(old, "utf8")).toBe("the old content");
  } finally {
    closeSync(old);
  }
  expect(dataDir.read("kept")).toBe("the new");
  expect(statSync(dataDir.path("kept")).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder.dataDir)).toEqual(["kept"]);
});

it("leaves no temporary file behind when a file cannot be written", () => {
  using folder = makeFolder();
  const dataDir = openDataDir(folder.dataDir);
  mkdirSync(dataDir.path("kept"));
  expect(() => dataDir.write("kept", "new")).toThrow(
    `${dataDir.path("kept")} cannot be written (EISDIR): make the folder writable, with room in it, or set SONDE_DATA_DIR`,
  );
  expect(readdirSync(folder.dataDir)).toEqual(["kept"]);
});
