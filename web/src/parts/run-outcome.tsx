// The outcome of a manual run: queued, then its result.
import { useEffect, useRef } from "preact/hooks";
import { count } from "../../../src/model/count.ts";
import type { Result } from "../../../src/model/result.ts";
import { useCalls } from "../call-names.ts";
import { nameOfLocation, useLacks, useLocations } from "../locations.tsx";
import { useNow } from "../now.ts";
import { useOutcome } from "../outcome.ts";
import { invalidate } from "../queries.ts";
import { stepsOf } from "../steps.ts";
import { isEnded, outcomePage } from "../runs.ts";
import type { Outcome, StartedRun, TargetKind, WorkflowOutcome } from "../runs.ts";
import { NoAgent } from "./no-agent.tsx";
import { Fault } from "./notice.tsx";
import { formatMs } from "../number.ts";
import { rowsOfCall, rowsOfSteps } from "./outcome-rows.ts";
import { State } from "./state.tsx";
import { toneOf } from "../tone.ts";
import { Sureness } from "./sureness.tsx";
import { Waterfall } from "./waterfall.tsx";

/** The queries that list the run, from when it is ordered. */
const LISTS = { call: [["calls"]], workflow: [["workflows"], ["workflow-results"]] } as const;
/** By then, an agent should have taken the run. */
const SUSPICIOUS_MS = 15_000;
/** The time waited is shown in tenths of a second. */
const TENTH_MS = 100;

interface RunOutcomeProps {
  readonly kind: TargetKind;
  readonly run: StartedRun;
}

export function RunOutcome({ kind, run }: RunOutcomeProps) {
  const { data, error } = useOutcome<Outcome>(kind, run.result_id);
  const ended = isEnded(data);
  useEffect(() => void invalidate(...LISTS[kind]), [ended, kind]);
  const shown = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const { top = 0, bottom = 0 } = shown.current?.getBoundingClientRect() ?? {};
    // By then, the reader may have scrolled on.
    if (ended && (bottom < 0 || top > innerHeight)) return;
    shown.current?.scrollIntoView({ block: "nearest" });
  }, [ended]);
  return (
    <div class="stack" ref={shown} aria-busy={!ended}>
      <Fault error={error} />
      <div role="status">{ended ? <Ending outcome={data} /> : <InFlight outcome={data} />}</div>
      {!ended && !error && <Waiting run={run} />}
      {ended && <Steps outcome={data} />}
      {ended && (
        <a href={outcomePage(kind, run.result_id)}>
          Open {kind === "call" ? "this result" : "this run"}
        </a>
      )}
    </div>
  );
}

const InFlight = ({ outcome }: { readonly outcome: Outcome | undefined }) => (
  <State tone="none" word={outcome?.meta.result === "PROCESSING" ? "Processing" : "Queued"} />
);

function Waiting({ run }: { readonly run: StartedRun }) {
  const elapsed = useNow(TENTH_MS) - run.started;
  const place = nameOfLocation(useLocations(), run.location_id);
  const lack = useLacks()(run.location_id);
  return (
    <div class="stack">
      <p class="muted">
        <span class="number">{(elapsed / 1000).toFixed(1)} s</span> since it was queued at {place}.
        {!lack && elapsed > SUSPICIOUS_MS && (
          <>
            {" "}
            No result has arrived yet: check for an online agent in{" "}
            <a href="locations">the locations</a>.
          </>
        )}
      </p>
      <NoAgent at={run.location_id}>
        the run waits. See <a href="locations">the locations</a>.
      </NoAgent>
    </div>
  );
}

const isOfCall = (outcome: Outcome): outcome is Result => "timing" in outcome;

/** How it ended, in one line. */
function Ending({ outcome }: { readonly outcome: Outcome }) {
  const { result, result_category, message } = outcome.meta;
  const facts = isOfCall(outcome) ? factsOfCall(outcome) : factsOfWorkflow(outcome);
  return (
    <>
      <div class="row">
        <State tone={toneOf(result, result_category)} word={result} />
        {facts.map((fact) => (
          <span key={fact}>{fact}</span>
        ))}
      </div>
      {message !== null && <p class="message">{message}</p>}
    </>
  );
}

const factsOfCall = ({ response, timing }: Result): string[] => [
  ...(response ? [`${response.status_code} ${response.status_string}`.trim()] : []),
  ...(timing.total === null ? [] : [formatMs(timing.total)]),
];

const factsOfWorkflow = ({ counts }: WorkflowOutcome): string[] => [
  count(counts.calls, "call"),
  `${counts.passed} passed`,
  `${counts.warnings} with a warning`,
  `${counts.failed} failed`,
  `${counts.not_made} not made`,
];

const Steps = ({ outcome }: { readonly outcome: Outcome }) =>
  isOfCall(outcome) ? (
    <>
      <Waterfall title="Phases of the call" rows={rowsOfCall(outcome)} detailed />
      <Sureness result={outcome} />
    </>
  ) : (
    <WorkflowSteps outcome={outcome} />
  );

function WorkflowSteps({ outcome: { counts, results } }: { readonly outcome: WorkflowOutcome }) {
  const calls = useCalls(results.map(({ meta }) => meta.call_id));
  const isWhole = counts.calls === results.length;
  const rows = rowsOfSteps(stepsOf(results, true), calls, isWhole);
  return <Waterfall title="Calls of the workflow" rows={rows} />;
}
