// The ids of this process's agents. Results show them, so they reveal nothing about the machine;
// the data folder keeps them across restarts.
import { randomBytes } from "node:crypto";
import type { DataDir } from "../runtime/data-dir.ts";
import type { Logger } from "../runtime/logger.ts";
import { lockForProcess } from "../store/sqlite/process-lock.ts";

/**
 * Returns `count` ids, and a function that releases them. If those in the data folder cannot be
 * used, usually because another process uses them, the ids are new, for this start only.
 */
export function claimAgentIds(dataDir: DataDir, count: number, log: Logger) {
  const newIds = { ids: Array.from({ length: count }, newId), release: (): void => undefined };
  return count === 0 ? newIds : (keptIds(dataDir, count, log) ?? newIds);
}

function keptIds(dataDir: DataDir, count: number, log: Logger) {
  let release: (() => void) | undefined;
  try {
    release = lockForProcess(dataDir.path("agent.lock"));
    return { ids: Array.from({ length: count }, (_, at) => keptId(dataDir, at + 1)), release };
  } catch (err) {
    release?.();
    log.warn({ err }, "cannot use the agent ids in the data folder: assigning new ones");
    return undefined;
  }
}

function keptId(dataDir: DataDir, n: number): string {
  const file = n === 1 ? "agent-id" : `agent-id-${n}`;
  const kept = dataDir.read(file)?.trim() ?? "";
  if (AGENT_ID.test(kept)) return kept;
  const id = newId();
  dataDir.write(file, id);
  return id;
}

const AGENT_ID = /^agent-[0-9a-f]{16}$/;

const newId = (): string => `agent-${randomBytes(8).toString("hex")}`;
