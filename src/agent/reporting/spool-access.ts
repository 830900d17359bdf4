// The spool's file, for as long as the spool is open: whatever happens to it, its user goes on.
import { isCorrupt } from "./spool-damage.ts";
import type { SpoolFile } from "./spool-file.ts";
import { createSpoolOpener } from "./spool-opener.ts";
import type { SpoolOpener, SpoolOpenerSettings } from "./spool-opener.ts";

/** No method throws. */
export interface SpoolAccess {
  /** To be called first. */
  open(): void;
  /**
   * Undefined where the work failed, and before `open` and after `close`. A failure is counted, and
   * logged when it is the first since the file was opened, or since `recovered`. A corrupt file is
   * replaced, and the work done on that.
   */
  use<T>(work: (file: SpoolFile) => T): T | undefined;
  /**
   * To be called when reports were stored: that others could be read says nothing of a full disk.
   */
  recovered(): void;
  /** Undefined until the file could be opened. */
  size(): number | undefined;
  /** Beside the one asked for, where that is of another version. */
  path(): string;
  close(): void;
}

export function createSpoolAccess(settings: SpoolOpenerSettings): SpoolAccess {
  const { log, metrics } = settings;
  const opener = createSpoolOpener(settings);
  const outage = createOutage(settings, opener);
  let file: SpoolFile | undefined;
  let isOpen = false;

  const openFile = (): SpoolFile => {
    if (file) return file;
    file = opener.open();
    outage.ended();
    const left = file.others();
    if (left.length > 0)
      log.warn(
        { spool: opener.path(), left },
        "spool has reports of other locations: they wait for an agent of theirs on this folder",
      );
    return file;
  };

  const attempt = <T>(work: (file: SpoolFile) => T): T => {
    try {
      return work(openFile());
    } catch (cause) {
      if (!isCorrupt(cause)) throw cause;
      file?.close();
      file = undefined;
      file = opener.replace(cause);
      return work(file);
    }
  };

  const use = <T>(work: (file: SpoolFile) => T): T | undefined => {
    if (!isOpen) return undefined;
    try {
      return attempt(work);
    } catch (cause) {
      outage.met(cause);
      return undefined;
    } finally {
      metrics.spooledReports.set(file?.count() ?? 0);
    }
  };

  return {
    open() {
      isOpen = true;
      use(() => undefined);
    },
    use,
    recovered: () => outage.ended(),
    size: () => file?.count(),
    path: () => opener.path(),
    close() {
      isOpen = false;
      file?.close();
      file = undefined;
    },
  };
}

/** Counts each failure; logs the first, and that there are no more. */
function createOutage({ log, metrics }: SpoolOpenerSettings, opener: SpoolOpener) {
  let lasts = false;
  return {
    met(cause: unknown): void {
      metrics.spoolFailures.inc();
      if (!lasts)
        log.error(
          { err: cause, spool: opener.path() },
          "spool cannot be used: reports wait in memory only",
        );
      lasts = true;
    },
    ended(): void {
      if (lasts) log.info({ spool: opener.path() }, "spool can be used again");
      lasts = false;
    },
  };
}
