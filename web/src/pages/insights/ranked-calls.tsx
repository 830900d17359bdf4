// The calls of a ranking, as a table.
import { useRef, useState } from "preact/hooks";
import type { InsightKind } from "../../../../src/model/insight.ts";
import { useAddress } from "../../address.ts";
import { useFocusAfter } from "../../focus.ts";
import { speedOf } from "../../insights.ts";
import type { RankedCall } from "../../insights.ts";
import { Band } from "../../parts/band.tsx";
import { CutNote, MOST_PRINTED, usePrinting } from "../../parts/printing.tsx";
import { ScrollRegion } from "../../parts/scroll-region.tsx";
import { formatCount, formatMs, formatPercent } from "../../number.ts";
import { nameOfPeriod, wordOf } from "../../periods.ts";
import { matches } from "../../search.ts";
import { ScoreTrend } from "./score-trend.tsx";

/** How many more rows are drawn at a time, unless they are printed. */
const SHOWN = 100;

interface RankedCallsProps {
  readonly kind: InsightKind;
  /** The start of the latest period of any call, in epoch milliseconds. */
  readonly latest: number;
  readonly calls: readonly RankedCall[];
  /** By id, those of the calls with a score for that period. */
  readonly places: ReadonlyMap<string, number>;
  readonly isOld: boolean;
}

export function RankedCalls({ kind, latest, calls, places, isOld }: RankedCallsProps) {
  const [{ q: sought = "" }, change] = useAddress();
  const wasSought = useRef(false);
  wasSought.current ||= sought !== "";
  const [count, setCount] = useState(SHOWN);
  const isPrinting = usePrinting();
  const found = calls.filter(({ api_name, api_url }) => matches([api_name, api_url], sought));
  useFocusAfter(found.length > count);
  return (
    <>
      {(calls.length > SHOWN || wasSought.current) && (
        <label class="field no-print">
          Find a call
          <input
            type="search"
            value={sought}
            onInput={({ currentTarget }) => change({ q: currentTarget.value })}
          />
        </label>
      )}
      <ScrollRegion label="Calls and their scores" isOld={isOld}>
        <table class="ranking">
          <Head kind={kind} />
          <tbody>
            {found.slice(0, isPrinting ? MOST_PRINTED : count).map((call) => (
              <Row key={call.id} {...{ kind, latest, call }} place={places.get(call.id)} />
            ))}
          </tbody>
        </table>
      </ScrollRegion>
      {found.length === 0 && <p class="muted">No call has these words in its name or URL.</p>}
      {isPrinting && found.length > MOST_PRINTED && <CutNote />}
      {found.length > count && (
        <button class="button no-print" type="button" onClick={() => setCount(count + SHOWN)}>
          Show more of the {formatCount(found.length)} calls
        </button>
      )}
    </>
  );
}

const Head = ({ kind }: Pick<RankedCallsProps, "kind">) => (
  <thead>
    <tr>
      <th scope="col" class="number">
        Place
      </th>
      <th scope="col">Call</th>
      <th scope="col" class="number">
        Score
      </th>
      <th scope="col" class="band">
        Band
      </th>
      <th scope="col" class="number">
        Passed
      </th>
      <th scope="col" class="number">
        Outliers
      </th>
      <th scope="col" class="number">
        Average time
      </th>
      <th scope="col">Last eight {kind === "WEEK" ? "weeks" : "months"}</th>
    </tr>
  </thead>
);

function Speed({ kind, call }: Pick<RowProps, "kind" | "call">) {
  const speed = speedOf(call);
  if (!speed) return null;
  const before = `${formatMs(call.mean_test_length_before)} in the ${wordOf(kind)} before`;
  return (
    <div class={`moved small ${speed === "slower" ? "worse" : "better"}`} title={before}>
      <span aria-hidden="true">{speed === "slower" ? "▲" : "▼"}</span> {speed}
    </div>
  );
}

interface RowProps {
  readonly kind: InsightKind;
  readonly latest: number;
  readonly call: RankedCall;
  readonly place: number | undefined;
}

function Row({ kind, latest, call, place }: RowProps) {
  const start = Date.parse(call.most_recent);
  const isScored = call.band !== null;
  const isPassed = call.pass_percent > 0;
  return (
    <tr>
      <td class="number place">{place ?? "–"}</td>
      <th scope="row" class="name">
        <a href={`insights/${call.insights_id}`}>{call.api_name}</a>
        <span class="muted small">{call.api_url}</span>
        {start < latest && <span class="tag">{nameOfPeriod(kind, start)}</span>}
      </th>
      <td class="number score">{isScored ? call.score : "–"}</td>
      <td class="band">
        <Band band={call.band} />
      </td>
      <td class="number passed">{formatPercent(call.made > 0 ? call.pass_percent : null)}</td>
      <td class="number outliers">{formatPercent(isPassed ? call.outlier_percent : null)}</td>
      <td class="number time">
        {formatMs(isPassed ? call.mean_test_length : null)}
        <Speed kind={kind} call={call} />
      </td>
      <td class="trend">
        <ScoreTrend kind={kind} latest={latest} call={call} />
      </td>
    </tr>
  );
}
