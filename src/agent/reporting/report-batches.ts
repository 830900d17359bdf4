// Reports in line for the bus: gathered into batches, so many of which are under way at a time.
import type { RunReport } from "../../model/result.ts";

/** A report, and what its tick waits for. */
export interface Waiting {
  readonly report: RunReport;
  readonly resolve: () => void;
  readonly reject: (cause: unknown) => void;
}

export type Batch = readonly Waiting[];

export interface ReportBatches {
  add(waiting: Waiting): void;
  /** Does not wait until a batch is full. */
  flush(): void;
}

export interface ReportBatchesSettings {
  /** Is offered all that are in line, whenever some are to go; true when it has taken them. */
  readonly divert: (line: Batch) => boolean;
  /** Resolves, whatever became of the batch, when the next can go; never rejects. */
  readonly send: (batch: Batch) => Promise<void>;
}

const BATCH_REPORTS = 50;
const GATHER_MS = 20;
/**
 * Batches under way at a time: over 1000 reports in a second where an answer takes 600 ms. While
 * the bus is away and nothing can be spooled, the others wait in line.
 */
const PIPELINED = 16;

export function createReportBatches({ divert, send }: ReportBatchesSettings): ReportBatches {
  const line: Waiting[] = [];
  let gathering: NodeJS.Timeout | undefined;
  let underWay = 0;

  const flush = (): void => {
    clearTimeout(gathering);
    gathering = undefined;
    if (line.length > 0 && divert(line)) line.length = 0;
    while (line.length > 0 && underWay < PIPELINED) {
      underWay += 1;
      void send(line.splice(0, BATCH_REPORTS)).finally(() => {
        underWay -= 1;
        flush();
      });
    }
  };

  return {
    add(waiting) {
      line.push(waiting);
      if (line.length >= BATCH_REPORTS) flush();
      else gathering ??= setTimeout(flush, GATHER_MS);
    },
    flush,
  };
}
