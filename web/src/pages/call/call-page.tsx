// The page of a call: its state, why it is slow, and all of its measurements.
import { useState } from "preact/hooks";
import type { Call } from "../../../../src/model/call.ts";
import { SIMULATED_TAG } from "../../../../src/model/simulated.ts";
import { useAddress } from "../../address.ts";
import { missingOf } from "../../api.ts";
import type { ApiError, Versioned } from "../../api.ts";
import { useLocations } from "../../locations.tsx";
import type { Place } from "../../places.ts";
import { now } from "../../now.ts";
import type { Range } from "../../parts/chart/chart-spec.ts";
import { Fault, Loading } from "../../parts/notice.tsx";
import { DeployDialog } from "../../parts/deploy/deploy-dialog.tsx";
import { Deployments } from "../../parts/deploy/deploy.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { RunNow } from "../../parts/run-now.tsx";
import { useKept, useLast, useVersioned } from "../../queries.ts";
import { filterQuery } from "../../run-filters.ts";
import { mayRun, maySee } from "../../session.ts";
import "../../styles/call.css";
import type { Change } from "./answer.ts";
import { AtAGlance } from "./at-a-glance.tsx";
import { Calendar } from "./calendar.tsx";
import { Controls } from "./controls.tsx";
import { HistogramChart, ResultCodes } from "./distribution.tsx";
import { CallHead } from "./head.tsx";
import { LatencyChart, NoCalls, PhasesChart } from "./latency.tsx";
import { useGrowing, useHistogram, useLatest, useOverview, useSeries } from "./reads.ts";
import { firstOf, useRecent } from "./recent.ts";
import { goToResults, Results } from "./results.tsx";
import { StatsTable } from "./stats-table.tsx";
import { usualSpan, viewOf, zoomQuery } from "./view.ts";
import type { View } from "./view.ts";

const ABOVE = { to: "calls", name: "Calls" };

export const CallPage = ({ params }: { readonly params: { readonly id: string } }) => (
  <Stored key={params.id} id={params.id} />
);

function Stored({ id }: { readonly id: string }) {
  const { data, error, refetch } = useVersioned<Call>(["calls", "stored", id], `calls/${id}/`);
  if (data) return <Loaded stored={data} gone={missingOf(error)} />;
  return (
    <>
      <PageHead title="Call" above={ABOVE} />
      {error ? <Fault error={error} retry={refetch} /> : <Loading what="the call" />}
    </>
  );
}

interface LoadedProps {
  readonly stored: Versioned<Call>;
  /** It was deleted meanwhile. The cards with forms stay, with what the reader has typed. */
  readonly gone: ApiError | null;
}

function Loaded({ stored, gone }: LoadedProps) {
  const { id, meta } = stored.object;
  const latest = useLatest(id);
  const overview = useOverview(id);
  const places = useLocations();
  const [query] = useAddress();
  const isSimulated = meta.tags.includes(SIMULATED_TAG);
  const isGrowing = useGrowing(id, isSimulated ? meta.created : undefined);
  const [isDeploying, setDeploying] = useState(false);
  const target = { kind: "call", id, name: meta.name } as const;
  const isRunnable = mayRun(stored);
  const [seesStats, seesRuns] = [maySee("stats", stored), maySee("results", stored)];
  const state = overview.error ? null : overview.data?.now;
  return (
    <>
      {gone && <PageHead title={meta.name} above={ABOVE} />}
      <Fault error={gone} />
      {!gone && (
        <CallHead
          stored={stored}
          now={overview.error ? undefined : overview.data?.now}
          onDeploy={isRunnable ? () => setDeploying(true) : undefined}
        />
      )}
      {!gone && seesStats && (
        <>
          <AtAGlance
            latest={latest.error ? [] : latest.data?.results}
            {...{ id, places, state, isGrowing, isRunnable }}
          />
          <Charts {...{ id, places, seesRuns }} />
        </>
      )}
      {isRunnable && <RunNow {...target} />}
      <Deployments
        {...target}
        isOwn={stored.role === "owner"}
        isRunnable={isRunnable && !gone}
        isSimulated={isSimulated}
      />
      {!gone && seesStats && <StatsTable id={id} location={query["location"]} />}
      {!gone && seesRuns && <Results id={id} places={places} />}
      {!gone && !seesStats && <NotShared what="statistics" />}
      {!gone && !seesRuns && <NotShared what="runs" />}
      {isDeploying && <DeployDialog target={target} onClose={() => setDeploying(false)} />}
    </>
  );
}

const NotShared = ({ what }: { readonly what: string }) => (
  <section class="card muted">The owner does not share the {what} of this call with you.</section>
);

interface ChartsProps {
  readonly id: string;
  readonly places: readonly Place[];
  /** Whether the reader may see single runs. */
  readonly seesRuns: boolean;
}

const ReadingYet = () => (
  <div class="charts-place">
    <Loading what="statistics" />
  </div>
);

function Charts({ id, places, seesRuns }: ChartsProps) {
  const [query] = useAddress();
  const recent = useRecent(id);
  // What failed is pending again once the charts read it: a test of that would take them away.
  const isFetched = recent.hours.isFetched && recent.days.isFetched;
  // Each hour, other hours are the last ones, and are read anew.
  const isRead = useKept(id, isFetched || undefined);
  const first = useKept(id, firstOf(recent));
  const isAsked = query["range"] !== undefined || query["from"] !== undefined;
  if (!isRead && !isAsked) return <ReadingYet />;
  const usual = seesRuns ? usualSpan(first, now()) : "day";
  const view = viewOf(query, now(), usual);
  return <ChartsOf {...{ id, places, seesRuns, view }} changed={recent.change} />;
}

function useMeasured(id: string, view: View, isOpen: boolean) {
  const { span, range, location, type, measure } = view;
  // A range that ends now moves on, and stays the same question.
  const asked = JSON.stringify([span ?? range, location, type, measure]);
  const histogram = useHistogram(id, view);
  const locations = histogram.data?.locations.map(({ location_id }) => location_id);
  const series = useSeries(id, view, isOpen ? locations : undefined);
  const error = histogram.error ?? series.error;
  const charts = useLast(id, asked, series.data && { series: series.data, view }, error);
  const isEmpty = charts?.value.series.all.length === 0;
  return {
    histogram: useLast(id, asked, histogram.data && { ...histogram.data, type, range }, error),
    charts: charts?.isOld && isEmpty ? undefined : charts,
    error,
    refetch: histogram.refetch,
  };
}

interface ChartsOfProps extends ChartsProps {
  readonly view: View;
  /** Undefined: there is no clear change. */
  readonly changed: Change | undefined;
}

function ChartsOf({ id, places, seesRuns, view, changed }: ChartsOfProps) {
  const [, change] = useAddress();
  const isClosed = view.grain === "RAW" && !seesRuns;
  const { histogram, charts, error, refetch } = useMeasured(id, view, !isClosed);
  const hasNone = histogram?.value.results.length === 0;
  const isReading = hasNone ? histogram.isOld : !charts;
  const zoom = (range: Range | undefined): void => change(zoomQuery(range, now()));
  const showRuns = (): void => {
    const shown = charts?.value.view ?? view;
    const [from, to] = shown.range.map((ms) => new Date(ms).toISOString());
    change(filterQuery({ category: "", type: "", location_id: shown.location, from, to }));
    goToResults();
  };
  return (
    <>
      <Controls view={view} places={places} onChange={change} />
      <Fault
        error={error}
        retry={refetch}
        remedy={
          <a class="button" href={`calls/${id}`}>
            Show the usual range at all locations
          </a>
        }
      />
      {isClosed && (
        <p class="notice">
          Each point of this range is one call, which the owner does not share with you: choose a
          longer range.
        </p>
      )}
      {!isClosed && isReading && !error && <ReadingYet />}
      {hasNone && !histogram.isOld && <NoCalls {...view} />}
      {!isClosed && !hasNone && charts && (
        <>
          <LatencyChart
            {...charts.value}
            isOld={charts.isOld}
            asked={view}
            places={places}
            change={changed}
            onZoom={zoom}
            onRuns={seesRuns ? showRuns : undefined}
          />
          <PhasesChart {...charts.value} isOld={charts.isOld} asked={view} onZoom={zoom} />
        </>
      )}
      <div class="columns">
        {!hasNone && histogram && <HistogramChart {...histogram} places={places} />}
        <div class="stack">
          {!hasNone && histogram && <ResultCodes {...histogram} />}
          <Calendar id={id} location={view.location} onDay={(from, to) => zoom([from, to])} />
        </div>
      </div>
    </>
  );
}
