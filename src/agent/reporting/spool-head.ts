// The head of the spool: the reports that go next, and out of it. What cannot be removed is not
// given again either.
import type { RunReport } from "../../model/result.ts";
import type { Logger } from "../../runtime/logger.ts";
import type { AgentMetrics } from "../metrics.ts";
import type { SpoolAccess } from "./spool-access.ts";
import type { SpoolFile } from "./spool-file.ts";
import { decodeReport } from "./spool-row.ts";
import type { StoredRow } from "./spool-row.ts";

export interface SpoolHead {
  /** What is damaged is dropped and counted. */
  oldest(): RunReport[];
  /** Of these runs, and of those from before that the disk did not let go. */
  remove(runIds: readonly string[]): void;
}

interface Head {
  readonly rows: readonly StoredRow[];
  /** Of those rows that are not damaged. */
  readonly reports: RunReport[];
  readonly damaged: readonly StoredRow[];
  /** How many damaged rows were deleted. */
  readonly dropped: number;
}

export interface SpoolHeadSettings {
  readonly access: SpoolAccess;
  readonly log: Logger;
  readonly metrics: AgentMetrics;
}

/** Small enough that making a message of them holds up no measurement. */
const READ_REPORTS = 100;
const READ_BYTES = 512 * 1024;

export function createSpoolHead({ access, log, metrics }: SpoolHeadSettings): SpoolHead {
  /**
   * What `oldest` gave, by run: where it is in the file. Its index may be damaged without its rows
   * being so.
   */
  let given = new Map<string, number>();
  /** Runs whose reports are to be removed, as soon as the disk lets us. */
  const gone = new Set<string>();

  const read = (file: SpoolFile): Head => {
    const rows = file.oldest(READ_REPORTS, READ_BYTES, [...gone]);
    const reports = rows.map(decodeReport);
    return {
      rows,
      reports: reports.filter((report) => report !== undefined),
      damaged: rows.filter((_, at) => reports[at] === undefined),
      dropped: 0,
    };
  };

  /**
   * In one use of the file: where that is replaced, other rows have the places, and all is read
   * anew.
   */
  const readAndDrop = (file: SpoolFile): Head => {
    const head = read(file);
    const seqs = head.damaged.map(({ seq }) => seq);
    return seqs.length > 0 ? { ...head, dropped: file.deleteAt(seqs) } : head;
  };

  const dropped = (reports: number): void => {
    metrics.spoolDropped.inc({ reason: "corrupt" }, reports);
    log.error({ spool: access.path(), reports }, "damaged reports were dropped");
  };

  return {
    oldest() {
      for (;;) {
        // What is whole can be read of a full disk, too.
        const head = access.use(readAndDrop) ?? access.use(read);
        given = new Map(head?.rows.map(({ run_id, seq }) => [run_id, seq]));
        if (!head) return [];
        if (head.dropped > 0) dropped(head.dropped);
        if (head.dropped === 0 || head.reports.length > 0) return head.reports;
      }
    },
    remove(runIds) {
      for (const runId of runIds) gone.add(runId);
      if (gone.size === 0) return;
      const runs = [...gone];
      const seqs = runs.flatMap((runId) => given.get(runId) ?? []);
      if (access.use((file) => file.deleteOf(runs, seqs)) !== undefined) gone.clear();
    },
  };
}
