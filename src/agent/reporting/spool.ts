// Holds reports on disk while the bus is unavailable: bounded, read in order of due time, and
// usable again after any disk failure.
import { parseInstant } from "../../model/instant.ts";
import { runReportValidator } from "../../model/result.ts";
import type { RunReport } from "../../model/result.ts";
import type { Logger } from "../../runtime/logger.ts";
import type { AgentMetrics } from "../metrics.ts";
import { isUnusable, openSpoolFile, setAside } from "./spool-file.ts";
import type { NewRow, Row, SpoolFile } from "./spool-file.ts";

const SPOOL_MAX_BYTES = 256 * 1024 * 1024;

export interface SpoolSettings {
  readonly path: string;
  /** Reports of other locations stay in the file. */
  readonly locationId: string;
  readonly log: Logger;
  readonly metrics: AgentMetrics;
  /** Limit for all reports together; default `SPOOL_MAX_BYTES`. */
  readonly maxBytes?: number;
}

export type Spool = ReturnType<typeof createSpool>;

/**
 * A spool survives its process, however that ends. No method throws: a failure (a full disk, a file
 * locked by another process) is counted, the first in a row is logged, and the next call retries.
 */
export function createSpool(settings: SpoolSettings) {
  const { path, log, metrics, maxBytes = SPOOL_MAX_BYTES } = settings;
  const access = createAccess(settings);
  /** Runs to remove as soon as the disk allows it. */
  const removable = new Set<string>();
  let full = false;

  const remove = (runIds: readonly string[]): void => {
    for (const runId of runIds) removable.add(runId);
    if (removable.size > 0 && access.use((file) => file.remove([...removable])) !== undefined)
      removable.clear();
    if (access.size() === 0) full = false;
  };
  const droppedOldest = (reports: number): void => {
    metrics.spoolDropped.inc({ reason: "full" }, reports);
    const bound = { spool: path, max_bytes: maxBytes };
    if (!full) log.warn(bound, "spool full: dropping the oldest reports");
    full = true;
  };
  const dropUnreadable = (run_ids: readonly string[]): void => {
    metrics.spoolDropped.inc({ reason: "corrupt" }, run_ids.length);
    log.error({ spool: path, run_ids }, "dropped unreadable reports");
    remove(run_ids);
  };

  return {
    /** Call it first: before `open` and after `close`, nothing is stored or found. */
    open: () => access.open(),
    /**
     * Stores all reports or returns false. Drops the oldest beyond `maxBytes`. A run keeps its
     * first report.
     */
    put(reports: readonly RunReport[]): boolean {
      const beyond = access.use((file) => file.insert(reports.map(encode), maxBytes));
      if (beyond === undefined) return false;
      access.written();
      if (beyond > 0) droppedOldest(beyond);
      return true;
    },
    /** The next batch, earliest due first; drops and counts reports that it cannot read. */
    oldest(): RunReport[] {
      remove([]); // retries what the disk rejected before
      const rows = access.use((file) => file.oldest([...removable])) ?? [];
      const reports = rows.map(decode);
      const unreadable = rows.filter((_, at) => !reports[at]).map(({ run_id }) => run_id);
      if (unreadable.length > 0) dropUnreadable(unreadable);
      return reports.filter((report) => report !== undefined);
    },
    find(runId: string): RunReport | undefined {
      const row = access.size() === 0 ? undefined : access.use((file) => file.find(runId));
      return row && decode(row);
    },
    /** `oldest` does not return the reports again, even if the disk rejects the change. */
    remove,
    /** Reports of this location on disk, and bytes of all; undefined until the file is open. */
    size: () => access.size(),
    bytes: () => access.bytes(),
    close: () => access.close(),
  };
}

/**
 * Moves the reports of an unused spool into an open one. Reports that cannot be moved stay for the
 * next start.
 */
export function takeOver(spool: Spool, settings: SpoolSettings): void {
  const left = createSpool(settings);
  left.open();
  const reports = left.size() ?? 0;
  for (let some = left.oldest(); some.length > 0 && spool.put(some); some = left.oldest())
    left.remove(some.map(({ run_id }) => run_id));
  const facts = { spool: settings.path, reports, left: left.size() };
  if (reports > 0) settings.log.info(facts, "took over a former agent's spool");
  left.close();
}

/** Opens the file as soon as it can, and replaces it when it is unusable. */
function createAccess(settings: SpoolSettings) {
  const { path, locationId, log, metrics } = settings;
  const outage = createOutage(settings);
  let file: SpoolFile | undefined;
  let isOpen = false;

  const opened = (): SpoolFile => {
    if (file) return file;
    file = openSpoolFile(path, locationId);
    outage.ended();
    const left = file.others;
    if (left.length > 0)
      log.warn({ spool: path, left }, "spool holds reports of other locations; leaving them there");
    return file;
  };
  const attempt = <T>(work: (file: SpoolFile) => T): T => {
    try {
      return work(opened());
    } catch (cause) {
      if (!isUnusable(cause)) throw cause;
      const reports = file?.count();
      file?.close();
      file = undefined;
      dropFile(settings, cause, reports);
      return work(opened());
    }
  };

  /** Returns undefined if the work failed. */
  const use = <T>(work: (file: SpoolFile) => T): T | undefined => {
    if (!isOpen) return undefined;
    try {
      return attempt(work);
    } catch (cause) {
      outage.met(cause);
      return undefined;
    } finally {
      metrics.spooledReports.set(file?.count() ?? 0);
      metrics.spoolBytes.set(file?.bytes() ?? 0);
    }
  };

  return {
    open(): void {
      isOpen = true;
      use(() => undefined);
    },
    use,
    /** Call it after a write: a successful read proves nothing, since a full disk allows it. */
    written: () => outage.ended(),
    size: () => file?.count(),
    bytes: () => file?.bytes(),
    close(): void {
      isOpen = false;
      file?.close();
      file = undefined;
    },
  };
}

/** A file that cannot be opened holds an unknown number of reports: it counts as one. */
function dropFile({ path, log, metrics }: SpoolSettings, err: unknown, reports = 1): void {
  metrics.spoolDropped.inc({ reason: "corrupt" }, reports);
  metrics.spoolFailures.inc();
  const moved_to = setAside(path);
  log.error({ err, spool: path, moved_to }, "spool unusable: set aside, starting empty");
}

/** Counts each failure; logs the first of a series and its end. */
function createOutage({ path, log, metrics }: SpoolSettings) {
  let lasts = false;
  return {
    met(cause: unknown): void {
      metrics.spoolFailures.inc();
      if (!lasts)
        log.error({ err: cause, spool: path }, "spool unavailable: reports wait in memory");
      lasts = true;
    },
    ended(): void {
      if (lasts) log.info({ spool: path }, "spool available again");
      lasts = false;
    },
  };
}

function encode(report: RunReport): NewRow {
  const { run_id, location_id, results, workflow } = report;
  const due = (workflow ?? results[0])?.meta.due_time ?? "";
  const due_time = parseInstant(due) ?? 0;
  return { run_id, location_id, due_time, report: Buffer.from(JSON.stringify(report)) };
}

/** Returns undefined if the row does not hold a report of its run. */
function decode(row: Row): RunReport | undefined {
  try {
    const report: unknown = JSON.parse(Buffer.from(row.report).toString());
    return runReportValidator.accepts(report) && report.run_id === row.run_id ? report : undefined;
  } catch {
    return undefined;
  }
}
