// The ids of a process's agents, across restarts and alongside other processes.
import { expect, it } from "vitest";
import { claimAgentIds } from "../../src/compose/agent-id.ts";
import { openDataDir } from "../../src/runtime/data-dir.ts";
import { captureLog } from "../runtime/log-lines.ts";
import { makeFolder } from "../support/process.ts";

const claim = (folder: string, count: number) => {
  const { log, lines } = captureLog();
  return { ...claimAgentIds(openDataDir(folder), count, log), lines };
};

it("agent ids are opaque", () => {
  using folder = makeFolder();
  const { ids, release } = claim(folder.dataDir, 1);
  release();
  expect(ids).toEqual([expect.stringMatching(/^agent-[0-9a-f]{16}$/)]);
});

it("agent ids survive a restart, one for each agent", () => {
  using folder = makeFolder();
  const first = claim(folder.dataDir, 2);
  first.release();
  expect(new Set(first.ids).size).toBe(2);
  const second = claim(folder.dataDir, 3);
  second.release();
  expect(second.ids.slice(0, 2)).toEqual(first.ids);
  expect(new Set(second.ids).size).toBe(3);
});

it("agent ids are new while another process uses those of the folder", () => {
  using folder = makeFolder();
  const first = claim(folder.dataDir, 1);
  const beside = claim(folder.dataDir, 1);
  expect(beside.ids).not.toEqual(first.ids);
  expect(beside.lines()[0]).toMatchObject({ level: "warn" });
  beside.release();
  first.release();
  const next = claim(folder.dataDir, 1);
  next.release();
  expect(next.ids).toEqual(first.ids);
});
