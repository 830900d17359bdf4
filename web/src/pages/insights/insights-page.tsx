// The ranking of calls by their scores for the latest closed weeks or months.
import { useEffect, useRef, useState } from "preact/hooks";
import type { InsightKind } from "../../../../src/model/insight.ts";
import { BANDS, FEWEST_CALLS, GOOD_FROM, FAIR_FROM } from "../../../../src/model/score.ts";
import { useAddress } from "../../address.ts";
import { withQuery } from "../../api.ts";
import { LEAST_CHANGE, latestOf, nextScoresAt, placesOf } from "../../insights.ts";
import type { RankedCall, Ranking } from "../../insights.ts";
import { now } from "../../now.ts";
import { Band } from "../../parts/band.tsx";
import { CheckField } from "../../parts/field.tsx";
import { Empty, Fault, Loading } from "../../parts/notice.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Switch } from "../../parts/switch.tsx";
import { formatTime } from "../../parts/time.tsx";
import { nameOfPeriod, wordOf } from "../../periods.ts";
import { useLast, useRead } from "../../queries.ts";
import { session } from "../../session.ts";
import "../../styles/insights.css";
import { RankedCalls } from "./ranked-calls.tsx";

/** While scores arrive one after another, as when the demo generates its history. */
const ARRIVING_EVERY_MS = 5000;
const EVERY_MS = 30_000;

interface View {
  readonly kind: InsightKind;
  readonly order: "best" | "worst";
  /** Also calls that others share with the organization. */
  readonly withShared: boolean;
}

const viewOf = (query: Readonly<Record<string, string | undefined>>): View => ({
  kind: query["kind"] === "month" ? "MONTH" : "WEEK",
  order: query["order"] === "worst" ? "worst" : "best",
  withShared: query["shared"] === "yes",
});

export function InsightsPage() {
  const [query, change] = useAddress();
  const view = viewOf(query);
  const { kind } = view;
  const [isComplete, setComplete] = useState(false);
  const lastRead = useRef<Ranking | undefined>(undefined);
  const asked = {
    weekly: kind === "WEEK",
    reverse: view.order === "worst",
    inc_org: view.withShared,
  };
  const { data, dataUpdatedAt, error, refetch } = useRead<Ranking>(
    ["insights", "rank", asked],
    withQuery("insights/rank/", asked),
    { everyMs: isComplete ? EVERY_MS : ARRIVING_EVERY_MS },
  );
  const none = data?.results.length === 0;
  const ranking = none ? undefined : data;
  const last = useLast("rank", JSON.stringify(asked), ranking && { kind, ranking }, error);
  useEffect(() => {
    // Equal answers are the same object.
    setComplete(data !== undefined && data === lastRead.current && !none);
    lastRead.current = data;
  }, [data, dataUpdatedAt, none]);
  return (
    <>
      <PageHead
        title="Insights"
        note="How reliable and how steady each call was, not how fast: a score from 0 to 999 for each closed week and month."
      />
      <Controls view={view} change={change} />
      <Fault error={error} retry={refetch} />
      {!data && !error && !last && <Loading what="scores" />}
      {none && <NoScores kind={kind} />}
      {!none && last && <Scores {...last.value} isOld={last.isOld} />}
      {(data ?? error ?? last) && <Rule />}
    </>
  );
}

interface ControlsProps {
  readonly view: View;
  readonly change: ReturnType<typeof useAddress>[1];
}

const Controls = ({ view: { kind, order, withShared }, change }: ControlsProps) => (
  <div class="row no-print">
    <Switch
      label="Periods"
      value={kind}
      choices={[
        { value: "WEEK", name: "Weekly" },
        { value: "MONTH", name: "Monthly" },
      ]}
      onChange={(chosen) => change({ kind: chosen === "MONTH" ? "month" : undefined })}
    />
    <Switch
      label="Order"
      value={order}
      choices={[
        { value: "best", name: "Best first" },
        { value: "worst", name: "Worst first" },
      ]}
      onChange={(chosen) => change({ order: chosen === "worst" ? chosen : undefined })}
    />
    {session.value?.org && (
      <CheckField
        label={`Include calls shared by others in ${session.value.org}`}
        value={withShared}
        onChange={(isOn) => change({ shared: isOn ? "yes" : undefined })}
      />
    )}
  </div>
);

function NoScores({ kind }: { readonly kind: InsightKind }) {
  const unit = wordOf(kind);
  return (
    <Empty title={`No scored ${unit}s yet`}>
      <p>
        The first scores arrive ten minutes after the {unit} closes, at{" "}
        <strong>{formatTime(nextScoresAt(kind, now()))}</strong>, for every call that ran in it.
      </p>
      <p>
        For {unit}s that have already closed:{" "}
        <code>
          sonde insights compute <span class="nowrap">--from DATE</span>{" "}
          <span class="nowrap">--to DATE</span>
        </code>
        . The demo (<code class="nowrap">npm start -- --demo</code>) adds nine weeks a few seconds
        after its first start; this page updates itself.
      </p>
    </Empty>
  );
}

interface ScoresProps {
  readonly kind: InsightKind;
  readonly ranking: Ranking;
  /** Whether another ranking was chosen, and is not read yet. */
  readonly isOld: boolean;
}

function Scores({ kind, ranking, isOld }: ScoresProps) {
  const { results } = ranking;
  const { start: latest, calls } = latestOf(results);
  return (
    <section class="card">
      <header>
        <h2 class="period">
          {nameOfPeriod(kind, latest)
            .split(/(?= to )/)
            .map((part) => (
              <span key={part}>{part}</span>
            ))}
        </h2>
        <Bands calls={calls} />
      </header>
      <RankedCalls {...{ kind, latest, isOld }} calls={results} places={placesOf(calls)} />
    </section>
  );
}

/** How many calls are in each band. */
const Bands = ({ calls }: { readonly calls: readonly RankedCall[] }) => (
  <ul class="row bands" aria-label="Calls in each band">
    {[...BANDS, null].flatMap((band) => {
      const count = calls.filter((call) => call.band === band).length;
      return count === 0
        ? []
        : [
            <li key={band} class="row">
              <span class="number">{count.toLocaleString("en")}</span>
              <Band band={band} />
            </li>,
          ];
    })}
  </ul>
);

/** An introduction to the table. */
const Rule = () => (
  <section class="card">
    <h2>What a score means</h2>
    <p>
      A score starts at 999 and loses points for calls that <strong>failed</strong>, most of all;
      for <strong>outliers</strong>, which passed but took unusually long; and for usual times that{" "}
      <strong>vary</strong>. Speed itself does not count: 100 ms is good for one API and bad for
      another. "Slower" and "faster" appear where the average time changed by {LEAST_CHANGE.percent}
      &nbsp;% and {LEAST_CHANGE.ms}&nbsp;ms or more from the period before. Open a call's score to
      see what each part cost.
    </p>
    <ul class="row bands">
      <li class="row">
        <Band band="good" /> {GOOD_FROM} to 999
      </li>
      <li class="row">
        <Band band="fair" /> {FAIR_FROM} to {GOOD_FROM - 1}
      </li>
      <li class="row">
        <Band band="poor" /> below {FAIR_FROM}
      </li>
      <li class="row">
        <Band band={null} /> fewer than {FEWEST_CALLS} calls in the period
      </li>
    </ul>
  </section>
);
