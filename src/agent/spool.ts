// Reports on disk while the bus does not take them: bounded, in the order of their due times, whatever the disk does.
import type { RunReport } from "../model/result.ts";
import type { Logger } from "../runtime/logger.ts";
import type { AgentMetrics } from "./metrics.ts";
import { isCorrupt, moveAside, salvage } from "./spool-damage.ts";
import {
  openSpoolFile,
  OtherVersionError,
  SPOOL_VERSION,
} from "./spool-file.ts";
import type { SpoolFile, Which } from "./spool-file.ts";
import { decodeReport, encodeReport } from "./spool-row.ts";

/**
 * What is in it survives the process, however it ends. No method throws: where the file cannot be used (a full disk,
 * another process that has it), that is logged once, counted, and tried again with the next call. A corrupt file is
 * moved aside, and what can be read of it goes into a new one.
 */
export interface Spool {
  /** To be called first; nothing is stored before, and nothing after `close`. */
  open(): void;
  /**
   * Stores all of them, or returns false. The oldest make room where there would be more than `maxBytes`; a run that is
   * there stays as it is.
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

/** Small enough that making a message of them holds up no measurement. */
const READ_REPORTS = 100;
const READ_BYTES = 512 * 1024;

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
  let spool = settings.path;
  /** What `oldest` gave, by run: where it is in the file. Its index may be damaged without its rows being so. */
  let given = new Map<string, number>();
  /** Runs whose reports are to be removed, as soon as the disk lets us. */
  const gone = new Set<string>();
  let file: SpoolFile | undefined;
  let [isOpen, failing, full] = [false, false, false];

  const drop = (reason: string, reports: number): void => {
    if (reports > 0) metrics.spoolDropped.inc({ reason }, reports);
  };

  const openFile = (): SpoolFile => {
    if (file) return file;
    file = openOwn();
    recovered();
    const left = file.others();
    if (left.length > 0)
      log.warn(
        { spool, left },
        "spool has reports of other locations: they wait for an agent of theirs on this folder",
      );
    return file;
  };

  const openOwn = (): SpoolFile => {
    try {
      return openSpoolFile(spool, settings.locationId);
    } catch (cause) {
      if (!(cause instanceof OtherVersionError)) throw cause;
      const other = spool;
      spool = `${settings.path}.v${SPOOL_VERSION}`;
      log.warn(
        { err: cause, spool, other },
        "spool is of another version of Sonde: it is left alone, and one beside it used",
      );
      return openSpoolFile(spool, settings.locationId);
    }
  };

  const recovered = (): void => {
    if (failing) log.info({ spool }, "spool can be used again");
    failing = false;
  };

  const attempt = <T>(work: (file: SpoolFile) => T): T => {
    try {
      return work(openFile());
    } catch (cause) {
      if (!isCorrupt(cause)) throw cause;
      file?.close();
      file = undefined;
      file = replace({ ...settings, path: spool }, maxBytes, cause);
      return work(file);
    }
  };

  /** Undefined where it failed. */
  const use = <T>(work: (file: SpoolFile) => T): T | undefined => {
    if (!isOpen) return undefined;
    try {
      return attempt(work);
    } catch (cause) {
      metrics.spoolFailures.inc();
      if (!failing)
        log.error(
          { err: cause, spool },
          "spool cannot be used: reports wait in memory only",
        );
      failing = true;
      return undefined;
    } finally {
      metrics.spooledReports.set(size() ?? 0);
    }
  };

  const size = (): number | undefined => file?.count();

  const remove = (which: Which): boolean =>
    use((opened) => opened.delete(which)) !== undefined;

  const removeRuns = (runIds: readonly string[]): void => {
    for (const runId of runIds) gone.add(runId);
    const seqs = runIds.flatMap((runId) => given.get(runId) ?? []);
    if (gone.size > 0 && remove({ seqs, runIds: [...gone] })) gone.clear();
    if (size() === 0) full = false;
  };

  const insert = (opened: SpoolFile, reports: readonly RunReport[]): true => {
    const dropped = opened.insert(reports.map(encodeReport), maxBytes);
    drop("full", dropped);
    if (dropped > 0 && !full)
      log.warn(
        { spool, max_bytes: maxBytes },
        "spool is full: the oldest reports are dropped",
      );
    full ||= dropped > 0;
    return true;
  };

  return {
    open() {
      isOpen = true;
      use(() => undefined);
    },
    put(reports) {
      const done = use((opened) => insert(opened, reports)) ?? false;
      if (done) recovered();
      return done;
    },
    oldest() {
      removeRuns([]);
      for (;;) {
        const rows =
          use((opened) => opened.oldest(READ_REPORTS, READ_BYTES, [...gone])) ??
          [];
        given = new Map(rows.map(({ run_id, seq }) => [run_id, seq]));
        const reports = rows.map(decodeReport);
        const good = reports.filter((report) => report !== undefined);
        const bad = rows.filter((_, at) => reports[at] === undefined);
        if (bad.length === 0) return good;
        if (!remove({ seqs: bad.map(({ seq }) => seq) })) return good;
        drop("corrupt", bad.length);
        log.error(
          { spool, reports: bad.length },
          "damaged reports were dropped",
        );
        if (good.length > 0) return good;
      }
    },
    find(runId) {
      if (size() === 0) return undefined;
      const row = use((opened) => opened.find(runId));
      return row && decodeReport(row);
    },
    remove: removeRuns,
    size,
    close() {
      isOpen = false;
      file?.close();
      file = undefined;
    },
  };
}

/** A new file in the place of a corrupt one, with what can be read of that. */
function replace(
  { path, locationId, log, metrics }: SpoolSettings,
  maxBytes: number,
  cause: unknown,
): SpoolFile {
  const aside = moveAside(path);
  const rows = salvage(aside, maxBytes).filter((row) => decodeReport(row));
  log.error(
    { err: cause, spool: path, moved_to: aside, reports: rows.length },
    "spool was corrupt: it was moved aside, and what can be read of it goes into a new one",
  );
  metrics.spoolFailures.inc();
  const file = openSpoolFile(path, locationId);
  try {
    file.insert(rows, maxBytes);
  } catch (failure) {
    file.close();
    throw failure;
  }
  return file;
}
