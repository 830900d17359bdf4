// Reports on disk while the bus does not take them: bounded, in the order of their due times,
// whatever the disk does.
import type { RunReport } from "../../model/result.ts";
import type { Logger } from "../../runtime/logger.ts";
import type { AgentMetrics } from "../metrics.ts";
import { createSpoolAccess } from "./spool-access.ts";
import type { SpoolFile } from "./spool-file.ts";
import { createSpoolHead } from "./spool-head.ts";
import { decodeReport, encodeReport } from "./spool-row.ts";

/**
 * What is in it survives the process, however it ends. No method throws: where the file cannot be
 * used (a full disk, another process that has it), that is logged once, counted, and tried again
 * with the next call. A corrupt file is moved aside, and what can be read of it goes into a new
 * one.
 */
export interface Spool {
  /** To be called first; nothing is stored before, and nothing after `close`. */
  open(): void;
  /**
   * Stores all of them, or returns false. The oldest make room where there would be more than
   * `maxBytes`; a run that is there stays as it is.
   */
  put(reports: readonly RunReport[]): boolean;
  /** The oldest, by the time they were due; what is damaged is dropped and counted. */
  oldest(): RunReport[];
  find(runId: string): RunReport | undefined;
  /** Of runs whose reports the bus has, or never takes; `oldest` does not give them again. */
  remove(runIds: readonly string[]): void;
  /** What is on the disk; undefined until the file could be opened. */
  size(): number | undefined;
  close(): void;
}

export const SPOOL_MAX_BYTES = 256 * 1024 * 1024;

export interface SpoolSettings {
  readonly path: string;
  /** Reports of other locations, from before, stay where they are. */
  readonly locationId: string;
  readonly log: Logger;
  readonly metrics: AgentMetrics;
  /** Of all reports together; default `SPOOL_MAX_BYTES`. */
  readonly maxBytes?: number;
}

export function createSpool(settings: SpoolSettings): Spool {
  const { log, metrics, maxBytes = SPOOL_MAX_BYTES } = settings;
  const access = createSpoolAccess({ ...settings, maxBytes });
  const head = createSpoolHead({ access, log, metrics });
  /** Since it was empty. */
  let full = false;

  const insert = (file: SpoolFile, reports: readonly RunReport[]): true => {
    const dropped = file.insert(reports.map(encodeReport), maxBytes);
    if (dropped === 0) return true;
    metrics.spoolDropped.inc({ reason: "full" }, dropped);
    if (!full)
      log.warn(
        { spool: access.path(), max_bytes: maxBytes },
        "spool is full: the oldest reports are dropped",
      );
    full = true;
    return true;
  };

  const remove = (runIds: readonly string[]): void => {
    head.remove(runIds);
    if (access.size() === 0) full = false;
  };

  return {
    open: () => access.open(),
    put(reports) {
      const done = access.use((file) => insert(file, reports)) ?? false;
      if (done) access.recovered();
      return done;
    },
    oldest() {
      remove([]);
      return head.oldest();
    },
    find(runId) {
      if (access.size() === 0) return undefined;
      const row = access.use((file) => file.find(runId));
      return row && decodeReport(row);
    },
    remove,
    size: () => access.size(),
    close: () => access.close(),
  };
}
