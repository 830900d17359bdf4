// The head of the spool: the reports that go next, and out of it. What cannot be removed is not given again either.
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

/** What stands where in which file. */
interface Read {
  readonly file: SpoolFile;
  readonly rows: readonly StoredRow[];
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

  const read = (): Read | undefined => {
    const found = access.use((file) => ({
      file,
      rows: file.oldest(READ_REPORTS, READ_BYTES, [...gone]),
    }));
    given = new Map(found?.rows.map(({ run_id, seq }) => [run_id, seq]));
    return found;
  };

  /** False where nothing came of it. */
  const dropDamaged = ({ file, rows }: Read): boolean => {
    const seqs = rows.map(({ seq }) => seq);
    // Where the file was replaced just now, other rows are at these places, and they are read anew.
    const dropped = access.use((current) =>
      current === file ? current.deleteAt(seqs) : "replaced",
    );
    if (dropped === "replaced") return true;
    if (!dropped) return false;
    metrics.spoolDropped.inc({ reason: "corrupt" }, dropped);
    log.error(
      { spool: access.path(), reports: dropped },
      "damaged reports were dropped",
    );
    return true;
  };

  return {
    oldest() {
      for (;;) {
        const found = read();
        if (!found) return [];
        const { file, rows } = found;
        const reports = rows.map(decodeReport);
        const good = reports.filter((report) => report !== undefined);
        const bad = rows.filter((_, at) => reports[at] === undefined);
        if (bad.length === 0 || !dropDamaged({ file, rows: bad })) return good;
        if (good.length > 0) return good;
      }
    },
    remove(runIds) {
      for (const runId of runIds) gone.add(runId);
      if (gone.size === 0) return;
      const runs = [...gone];
      const seqs = runs.flatMap((runId) => given.get(runId) ?? []);
      if (access.use((file) => file.deleteOf(runs, seqs)) !== undefined)
        gone.clear();
    },
  };
}
