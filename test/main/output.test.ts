// Output is complete, or the exit code reports that it is not.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, it, onTestFinished } from "vitest";
import { makeFolder, runSonde, startSonde } from "../support/process.ts";

const MAIN = join(import.meta.dirname, "../../src/main.ts");

it("reaches a slow reader in full", async () => {
  using folder = makeFolder();
  const options = { folder: folder.path };
  await runSonde(["migrate"], options);
  // More than a pipe holds.
  const entries = 5000;
  const database = new DatabaseSync(join(folder.dataDir, "sonde.db"));
  database.exec(`with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${entries})
    insert into audit (id, time, actor, action, kind, object_id, fields)
      select printf('%06d', n), n, 'test', 'create', 'call', n, '[]' from numbers`);
  database.close();
  await using sonde = startSonde(["audit", "list", "--limit", String(entries)], options);
  expect(await sonde.exited).toEqual({ code: 0, signal: null });
  expect(sonde.stdout().trimEnd().split("\n")).toHaveLength(entries);
});

it("that cannot be written is a failure, since a new key would be lost", async () => {
  using folder = makeFolder();
  const child = spawn(process.execPath, [MAIN, "keys", "create"], {
    env: { PATH: process.env["PATH"], SONDE_DATA_DIR: folder.dataDir },
    stdio: ["ignore", openSync("/dev/full", "w"), "pipe"],
  });
  const exited = once(child, "exit");
  expect(await text(child.stderr as NodeJS.ReadableStream)).toBe(
    "sonde: cannot write to stdout (ENOSPC: no space left on device, write)\n",
  );
  expect(await exited).toEqual([1, null]);
});

it("may lose its reader: the service keeps running and stops normally", async () => {
  using folder = makeFolder();
  const child = spawn(process.execPath, [MAIN, "serve"], {
    env: {
      PATH: process.env["PATH"],
      SONDE_PORT: "0",
      SONDE_OPS_PORT: "0",
      SONDE_DATA_DIR: folder.dataDir,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const exited = once(child, "exit");
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  child.stdout.destroy();
  const { port } = JSON.parse(line.toString().split("\n")[0] ?? "") as {
    readonly port: number;
  };
  const ready = (): Promise<number> =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(({ status }) => status);
  await expect.poll(ready).toBe(200);
  child.kill("SIGTERM");
  expect(await exited).toEqual([0, null]);
});
