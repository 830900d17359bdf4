// The times of the calls that passed: percentiles, and the average of each phase.
import type { InsightReport } from "../../insights.ts";
import { Fact } from "../../parts/fact.tsx";
import { formatMs, percentileText } from "../../number.ts";
import { sumOfPhases } from "../../parts/phase-bar.tsx";
import { Waterfall } from "../../parts/waterfall.tsx";

const PERCENTILES = ["p50", "p75", "p90", "p95", "p99"] as const;

export function Times({ report: { percentiles, phases } }: { readonly report: InsightReport }) {
  const total = sumOfPhases(phases);
  const average = { ...phases, total: total === 0 ? null : total, uncertainty: 0 };
  return (
    <section class="card">
      <h2>Times of the calls that passed</h2>
      {total === 0 ? (
        <p class="muted">No call passed.</p>
      ) : (
        <>
          <dl class="facts">
            {PERCENTILES.map((name) => (
              <Fact key={name} name={name}>
                {formatMs(percentiles[name])}
              </Fact>
            ))}
          </dl>
          <p class="muted small">{percentileText("p95")}</p>
          <Waterfall
            title="Average phases of the calls that passed"
            rows={[{ label: "Phases, on average", offsetMs: 0, timing: average }]}
            detailed
          />
        </>
      )}
    </section>
  );
}
