// The runs of a workflow, newest first.
import type { WorkflowResult } from "../../../../src/model/result.ts";
import { useAddress } from "../../address.ts";
import { useList } from "../../lists.ts";
import { nameOfLocation, useLocations } from "../../locations.tsx";
import { placeChoices } from "../../places.ts";
import type { Place } from "../../places.ts";
import { SelectField } from "../../parts/field.tsx";
import { MoreButton } from "../../parts/more-button.tsx";
import { Fault, Loading } from "../../parts/notice.tsx";
import { formatMs } from "../../number.ts";
import { Time } from "../../parts/time.tsx";
import { filterQuery, filtersOf } from "../../run-filters.ts";
import { newestFirst } from "../../run-times.ts";
import { durationOf, formatCounts } from "../../workflow-run.ts";
import { RunState } from "../../parts/run-state.tsx";

const PAGE = 25;

const OUTCOMES = [
  { value: "", name: "Any" },
  { value: "PASS", name: "Passed" },
  { value: "WARNING", name: "Warning" },
  { value: "FAIL", name: "Failed" },
  { value: "NONE", name: "No call counted" },
];

interface RunsProps {
  readonly workflowId: string;
  /** Whether the signed-in user may run and deploy the workflow. */
  readonly isRunnable: boolean;
}

export function Runs({ workflowId, isRunnable }: RunsProps) {
  const [address, change] = useAddress();
  const { category, location_id } = filtersOf(address);
  const places = useLocations();
  const list = useList<WorkflowResult>(
    ["workflow-results", workflowId],
    `workflows/${workflowId}/results/`,
    { filters: { order: "desc", limit: PAGE, category, location_id } },
  );
  const { rows, error, refetch } = list;
  const isFiltered = category !== "" || location_id !== "";
  return (
    <section class="card" aria-labelledby="workflow-runs">
      <header>
        <h2 id="workflow-runs">Runs</h2>
        <div class="row filters no-print">
          <SelectField
            label="Outcome"
            value={category}
            choices={OUTCOMES}
            onChange={(chosen) => change(filterQuery({ category: chosen }))}
          />
          <SelectField
            label="Location"
            value={location_id}
            choices={placeChoices(places, "All")}
            onChange={(chosen) => change(filterQuery({ location_id: chosen }))}
          />
        </div>
      </header>
      <Fault error={error} retry={refetch} />
      {!rows && !error && <Loading what="runs" />}
      {rows?.length === 0 && (
        <p class="muted">
          {isFiltered ? "No runs match." : "No runs yet."}
          {!isFiltered &&
            isRunnable &&
            " Run it now to see each call, or deploy it to run on a schedule."}
        </p>
      )}
      {rows && rows.length > 0 && (
        <RunTable runs={newestFirst(rows)} isOld={list.isOld} places={places} />
      )}
      <MoreButton list={list} />
    </section>
  );
}

const RunTable = ({
  runs,
  isOld,
  places,
}: {
  readonly runs: readonly WorkflowResult[];
  readonly isOld: boolean;
  readonly places: readonly Place[];
}) => (
  <div class="scroll-x" aria-busy={isOld}>
    <table class="runs blocks">
      <thead>
        <tr>
          <th scope="col">Started</th>
          <th scope="col">Outcome</th>
          <th scope="col">Calls</th>
          <th scope="col" class="number">
            Duration
          </th>
          <th scope="col">Location</th>
          <th scope="col">Started by</th>
          <th scope="col">Message</th>
        </tr>
      </thead>
      <tbody>
        {runs.map(({ id, meta, counts }) => (
          <tr key={id}>
            <th scope="row" class="whole">
              <a href={`workflow-results/${id}`}>
                <Time at={meta.start_time ?? meta.due_time} />
              </a>
            </th>
            <td>
              <RunState {...meta} />
            </td>
            <td>{formatCounts(counts)}</td>
            <td class="number" data-label="Duration">
              {formatMs(durationOf(meta))}
            </td>
            <td>{nameOfLocation(places, meta.location_id)}</td>
            <td data-label="Started by">{meta.trigger === "MANUAL" ? "Run now" : "Schedule"}</td>
            <td class={meta.message === null ? "nothing" : "message whole"}>
              {meta.message ?? <span class="muted">–</span>}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);
