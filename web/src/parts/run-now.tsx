// Runs a call or a workflow now, at a location, and shows the outcome as it arrives.
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { nameOfVariable } from "../../../src/model/context.ts";
import { useSending } from "../form.ts";
import { startRun } from "../runs.ts";
import type { StartedRun, Target } from "../runs.ts";
import { has } from "../session.ts";
import { assertDistinct, toPairs } from "../rows.ts";
import type { Row } from "../rows.ts";
import { LocationField } from "./location-field.tsx";
import { Fault } from "./notice.tsx";
import { PairRows } from "./pair-rows.tsx";
import { RunOutcome } from "./run-outcome.tsx";

/** The location that was chosen last; the empty id is the default location's. */
const chosenLocation = signal("");

const FORM = "run";

/** A button for the head of the page: it does what the button of the panel does. */
export const RunButton = () => (
  <button class="button primary" type="submit" form={FORM}>
    Run now
  </button>
);

interface RunNowProps extends Target {
  /** Each new number starts a run; undefined: none. */
  readonly start?: number | undefined;
  /** The page with the target's results, if not this one; relative to the document's base. */
  readonly page?: string;
}

/** Shows nothing to those who may not run. */
export const RunNow = (props: RunNowProps) => (has("EDITOR") ? <RunPanel {...props} /> : null);

function RunPanel({ start, page, ...target }: RunNowProps) {
  const [context, setContext] = useState<readonly Row[]>([]);
  const [run, setRun] = useState<StartedRun>();
  const panel = useRef<HTMLElement>(null);
  const order = async (): Promise<void> => setRun(await startRun(target, orderOf(context)));
  const { isBusy, attempt, faultBeside } = useSending(order);
  const begin = (): void => {
    if (!isBusy) void attempt(order);
  };
  const show = (): void => {
    panel.current?.scrollIntoView({ block: "nearest" });
    panel.current?.focus({ preventScroll: true });
  };
  useEffect(() => {
    if (start === undefined) return;
    show();
    begin();
  }, [start]);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    // Enter in a field of the panel submits by the button in the head, which comes first.
    if (!panel.current?.contains(document.activeElement)) show();
    begin();
  };
  return (
    <section class="card no-print" ref={panel} tabIndex={-1} aria-labelledby="run-now">
      <header>
        <h2 id="run-now">Run now</h2>
      </header>
      <form class="stack" id={FORM} onSubmit={submit}>
        <div class="fields">
          <LocationField
            value={chosenLocation.value}
            isToRun
            onChange={(id) => {
              chosenLocation.value = id;
            }}
          />
        </div>
        <ContextFields rows={context} onChange={setContext} />
        <div class="row">
          <button class="button primary" type="submit" aria-disabled={isBusy}>
            {run ? "Run again" : "Run now"}
          </button>
          {run && page !== undefined && (
            <a class="button" href={page}>
              Charts and results of this {target.kind}
            </a>
          )}
        </div>
        <Fault error={faultBeside()} />
      </form>
      {run && <RunOutcome key={run.result_id} kind={target.kind} run={run} />}
    </section>
  );
}

function orderOf(context: readonly Row[]) {
  const pairs = toPairs(context);
  assertDistinct(
    pairs.map(({ key }) => key),
    "context",
    nameOfVariable,
  );
  return {
    location_id: chosenLocation.value,
    context: Object.fromEntries(pairs.map(({ key, value }) => [key, value])),
  };
}

const ContextFields = ({
  rows,
  onChange,
}: {
  readonly rows: readonly Row[];
  readonly onChange: (rows: readonly Row[]) => void;
}) => (
  <details>
    <summary>Context values{rows.length > 0 && ` (${rows.length})`}</summary>
    <PairRows
      title="Values of %%NAME%% in this run"
      noun="value"
      hint="WORKSPACE selects the workspace of environment variables. Context values are stored and shown: no secrets here."
      rows={rows}
      onChange={onChange}
    />
  </details>
);
