// `sonde retention run`: removes what has expired, or counts it, and prints one JSON object for
// each kind.
import { hostname } from "node:os";
import { formatInstant } from "../model/instant.ts";
import { systemClock } from "../runtime/clock.ts";
import { withStore } from "./command.ts";
import type { Command } from "./command.ts";
import { listenForStop } from "./stop-signal.ts";

/** The service may keep running. A signal ends it after the batch under way. */
export const runRetention: Command = {
  options: ["dry-run"],
  async run({ config, values, print }) {
    const dryRun = values["dry-run"] ?? false;
    const stopping = new AbortController();
    void listenForStop(systemClock).then((signal) => stopping.abort(signal));
    const { removeExpired } = await import("../aggregator/retention.ts");
    const { retentionOf } = await import("../compose/store.ts");
    await withStore(config, async (store) => {
      const outcome = await removeExpired({
        store,
        clock: systemClock,
        days: retentionOf(config),
        holder: `${hostname()}-${process.pid}-command`,
        signal: stopping.signal,
        dryRun,
        onRemoved({ kind, rows, oldestKept }) {
          const oldest_kept = oldestKept === null ? null : formatInstant(oldestKept);
          const count = dryRun ? { would_remove: rows } : { removed: rows };
          print(`${JSON.stringify({ kind, ...count, oldest_kept })}\n`);
        },
      });
      if (outcome === "held elsewhere")
        throw new Error("another process is removing what has expired: try again when it is done");
      if (outcome === "stopped") throw new Error("stopped: run it again to remove the rest");
    });
  },
};
