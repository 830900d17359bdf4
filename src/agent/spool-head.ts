// The head of the spool: the reports that go next, and out of it. What cannot be removed is not given again either.
import type { RunReport } from "../model/result.ts";
import type { Logger } from "../runtime/logger.ts";
import type { AgentMetrics } from "./metrics.ts";
import type { SpoolAccess } from "./spool-access.ts";
import type { Which } from "./spool-file.ts";
import { decodeReport } from "./spool-row.ts";
import type { StoredRow } from "./spool-row.ts";

export interface SpoolHead {
  /** What is damaged is dropped and counted. */
  oldest(): RunReport[];
  /** Of these runs, and of those from before that the disk did not let go. */
  remove(runIds: readonly string[]): void;
}

export interface SpoolHeadSettings {
  readonly access: SpoolAccess;
  readonly log: Logger;
  readonly metrics: AgentMetrics;
}

/** Small enough that making a message of them holds up no measurement. */
const READ_REPORTS = 100;
const READ_BYTES = 512 * 1024;

export function createSpoolHead({
  access,
  log,
  metrics,
}: SpoolHeadSettings): SpoolHead {
  /** What `oldest` gave, by run: where it is in the file. Its index may be damaged without its rows being so. */
  let given = new Map<string, number>();
  /** Runs whose reports are to be removed, as soon as the disk lets us. */
  const gone = new Set<string>();

  const read = (): StoredRow[] => {
    const rows =
      access.use((file) => file.oldest(READ_REPORTS, READ_BYTES, [...gone])) ??
      [];
    given = new Map(rows.map(({ run_id, seq }) => [run_id, seq]));
    return rows;
  };

  const deleted = (which: Which): boolean =>
    access.use((file) => file.delete(which)) !== undefined;

  const dropDamaged = (rows: readonly StoredRow[]): boolean => {
    if (!deleted({ seqs: rows.map(({ seq }) => seq) })) return false;
    metrics.spoolDropped.inc({ reason: "corrupt" }, rows.length);
    log.error(
      { spool: access.path(), reports: rows.length },
      "damaged reports were dropped",
    );
    return true;
  };

  return {
    oldest() {
      for (;;) {
        const rows = read();
        const reports = rows.map(decodeReport);
        const good = reports.filter((report) => report !== undefined);
        const bad = rows.filter((_, at) => reports[at] === undefined);
        if (bad.length === 0 || !dropDamaged(bad) || good.length > 0)
          return good;
      }
    },
    remove(runIds) {
      for (const runId of runIds) gone.add(runId);
      const seqs = runIds.flatMap((runId) => given.get(runId) ?? []);
      if (gone.size > 0 && deleted({ seqs, runIds: [...gone] })) gone.clear();
    },
  };
}
