// Each tick once in this process: one that comes again joins its run, or is answered with the
// report that was kept.
import type { RunReport } from "../model/result.ts";
import type { Tick } from "../model/tick.ts";
import { createDueRuns } from "./due-runs.ts";
import type { DueRunsSettings, Hold } from "./due-runs.ts";
import type { KeptReports } from "./reporting/kept-reports.ts";
import type { ReportPublisher } from "./reporting/report-publisher.ts";

export interface TickRunsSettings extends DueRunsSettings {
  readonly publisher: ReportPublisher;
  readonly kept: KeptReports;
}

export interface TickRuns {
  /**
   * Resolves when the report is published (`ReportPublisher.publish`). A tick that comes again
   * joins the run under way; one that has run is not run again.
   */
  deliver(tick: Tick, hold: Hold): Promise<void>;
  /** Ends the runs in flight; their deliveries reject with the reason. */
  cancel(reason: Error): void;
  inFlight(): number;
}

export function createTickRuns(settings: TickRunsSettings): TickRuns {
  const { publisher, kept, metrics } = settings;
  const runs = createDueRuns(settings);
  const underWay = new Map<string, Promise<void>>();

  const runAndCount = async (tick: Tick, hold: Hold): Promise<RunReport> => {
    const report = await runs.run(tick, hold);
    const { results, workflow } = report;
    for (const { meta } of workflow && results.length === 0 ? [workflow] : results)
      metrics.runs.inc({ result: meta.result });
    return report;
  };

  const publish = async (report: RunReport): Promise<void> => {
    try {
      await publisher.publish(report);
      kept.published(report.run_id);
    } catch (cause) {
      kept.keep(report);
      throw cause;
    }
  };

  const answer = async (tick: Tick, hold: Hold): Promise<void> => {
    const known = kept.find(tick.result_id);
    if (known) metrics.repeatedTicks.inc();
    if (known === "published") return;
    await publish(known ?? (await runAndCount(tick, hold)));
  };

  return {
    deliver(tick, hold) {
      const running = underWay.get(tick.result_id);
      if (running) {
        metrics.repeatedTicks.inc();
        return running;
      }
      const delivery = answer(tick, hold).finally(() => underWay.delete(tick.result_id));
      underWay.set(tick.result_id, delivery);
      return delivery;
    },
    cancel: (reason) => runs.cancel(reason),
    inFlight: () => runs.inFlight(),
  };
}
