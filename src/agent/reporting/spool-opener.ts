// Opens the spool's file: beside one of another version, which stays, and in the place of one that
// is corrupt.
import type { Logger } from "../../runtime/logger.ts";
import type { AgentMetrics } from "../metrics.ts";
import { moveAside, salvage } from "./spool-damage.ts";
import { openSpoolFile, OtherVersionError, SPOOL_VERSION } from "./spool-file.ts";
import type { SpoolFile } from "./spool-file.ts";
import { decodeReport } from "./spool-row.ts";

export interface SpoolOpener {
  /** Throws as `openSpoolFile` does. */
  open(): SpoolFile;
  /**
   * Moves the file aside, which is corrupt and closed: what can be read of it goes into a new one.
   * Throws as above.
   */
  replace(cause: unknown): SpoolFile;
  /** Of the file. */
  path(): string;
}

export interface SpoolOpenerSettings {
  readonly path: string;
  readonly locationId: string;
  readonly log: Logger;
  readonly metrics: AgentMetrics;
  /** Of what is taken over from a corrupt file. */
  readonly maxBytes: number;
}

export function createSpoolOpener(settings: SpoolOpenerSettings): SpoolOpener {
  const { locationId, log, metrics, maxBytes } = settings;
  let spool = settings.path;
  return {
    open() {
      try {
        return openSpoolFile(spool, locationId);
      } catch (cause) {
        if (!(cause instanceof OtherVersionError)) throw cause;
        const other = spool;
        spool = `${settings.path}.v${SPOOL_VERSION}`;
        log.warn(
          { err: cause, spool, other },
          "spool is of another version of Sonde: it is left alone, and one beside it used",
        );
        return openSpoolFile(spool, locationId);
      }
    },
    replace(cause) {
      const aside = moveAside(spool);
      const rows = salvage(aside, maxBytes).filter((row) => decodeReport(row));
      log.error(
        { err: cause, spool, moved_to: aside, reports: rows.length },
        "spool was corrupt: it was moved aside, and what can be read of it goes into a new one",
      );
      metrics.spoolFailures.inc();
      const file = openSpoolFile(spool, locationId);
      try {
        file.insert(rows, maxBytes);
      } catch (failure) {
        file.close();
        throw failure;
      }
      return file;
    },
    path: () => spool,
  };
}
