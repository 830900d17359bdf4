// The score of a call in the last week that was scored, as a link to its report.
import type { InsightEntry } from "../../insights.ts";
import { bandOfEntry } from "../../insights.ts";
import { useRead } from "../../queries.ts";
import { Band } from "../../parts/band.tsx";

/** Shows an en dash if no week has a report. */
export function CallScore({ id }: { readonly id: string }) {
  const { data, isPending } = useRead<Partial<InsightEntry>>(
    ["insights", "latest", id],
    `insights/call/${id}/?weekly=true`,
  );
  if (isPending) return <span class="muted">Loading …</span>;
  if (data?.id === undefined) return <span>–</span>;
  const { score = 0, rank = -1 } = data;
  return (
    <span class="row">
      <a href={`insights/${data.id}`}>{rank === -1 ? "Insights" : score}</a>
      <Band band={bandOfEntry({ score, rank })} />
    </span>
  );
}
