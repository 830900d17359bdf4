// The results of a call, newest first, with filters.
import { CATEGORY_FILTERS } from "../../../../src/model/result.ts";
import type { ListedResult } from "../../../../src/model/result.ts";
import { useAddress } from "../../address.ts";
import { urlOf, withQuery } from "../../api.ts";
import { useList } from "../../lists.ts";
import { nameOfLocation } from "../../locations.tsx";
import { placeChoices } from "../../places.ts";
import type { Place } from "../../places.ts";
import { InstantField, SelectField } from "../../parts/field.tsx";
import { MoreButton } from "../../parts/more-button.tsx";
import { Fault, Loading } from "../../parts/notice.tsx";
import { formatMs } from "../../number.ts";
import { State } from "../../parts/state.tsx";
import { toneOf } from "../../tone.ts";
import { Time } from "../../parts/time.tsx";
import { ScrollRegion } from "../../parts/scroll-region.tsx";
import { filterQuery, filtersOf, isFiltered } from "../../run-filters.ts";
import type { RunFilters } from "../../run-filters.ts";
import { newestFirst } from "../../run-times.ts";
import { OUTCOMES } from "../../advice.ts";

const PAGE = 25;

const CATEGORY_CHOICES = [
  { value: "", name: "Any" },
  ...CATEGORY_FILTERS.map((value) => ({
    value,
    name: value === "NONE" ? "None: no call made" : value,
  })),
];

const TYPES = [
  { value: "", name: "Any" },
  ...Object.keys(OUTCOMES).map((value) => ({ value, name: value })),
];

interface ResultsProps {
  readonly id: string;
  readonly places: readonly Place[];
}

export function Results({ id, places }: ResultsProps) {
  const [address, change] = useAddress();
  const filters = filtersOf(address);
  const query = { order: "desc", ...filters };
  const list = useList<ListedResult>(["calls", id, "results"], `calls/${id}/results/`, {
    filters: { ...query, limit: PAGE },
  });
  return (
    <section class="card" aria-labelledby="results">
      <header>
        <h2 id="results" tabIndex={-1}>
          Runs
        </h2>
        <a
          class="button no-print"
          href={urlOf(withQuery(`calls/${id}/results/export`, query))}
          download
        >
          Download as CSV<span class="visually-hidden">: runs</span>
        </a>
      </header>
      <FilterFields
        filters={filters}
        places={places}
        onChange={(changed) => change(filterQuery(changed))}
      />
      <Fault error={list.error} retry={list.refetch} />
      {!list.rows && !list.error && <Loading what="results" />}
      {list.rows?.length === 0 && (
        <p class="muted">
          {isFiltered(filters) ? "No results match. Change the filters." : "No runs yet."}
        </p>
      )}
      {list.rows !== undefined && list.rows.length > 0 && (
        <Rows results={newestFirst(list.rows)} isOld={list.isOld} places={places} />
      )}
      <MoreButton list={list} />
    </section>
  );
}

/** Scrolls to the list, and moves the focus there. */
export function goToResults(): void {
  const heading = document.querySelector<HTMLElement>("#results");
  heading?.closest("section")?.scrollIntoView();
  heading?.focus({ preventScroll: true });
}

interface FilterFieldsProps {
  readonly filters: RunFilters;
  readonly places: readonly Place[];
  readonly onChange: (changed: Partial<RunFilters>) => void;
}

const FilterFields = ({ filters, places, onChange }: FilterFieldsProps) => (
  <div class="fields narrow no-print">
    <SelectField
      label="Category"
      value={filters.category}
      choices={CATEGORY_CHOICES}
      onChange={(category) => onChange({ category })}
    />
    <SelectField
      label="Result"
      value={filters.type}
      choices={TYPES}
      onChange={(type) => onChange({ type })}
    />
    <SelectField
      label="From location"
      value={filters.location_id}
      choices={placeChoices(places, "Any")}
      onChange={(location_id) => onChange({ location_id })}
    />
    <InstantField label="From" value={filters.from} onInput={(from) => onChange({ from })} />
    <InstantField label="Before" value={filters.to} onInput={(to) => onChange({ to })} />
  </div>
);

interface RowsProps {
  readonly results: readonly ListedResult[];
  readonly isOld: boolean;
  readonly places: readonly Place[];
}

const Rows = ({ results, isOld, places }: RowsProps) => (
  <ScrollRegion label="Results" isOld={isOld}>
    <table class="results blocks">
      <thead>
        <tr>
          <th scope="col">Time</th>
          <th scope="col">Result</th>
          <th scope="col" class="number">
            Status
          </th>
          <th scope="col" class="number">
            Latency
          </th>
          <th scope="col" class="number">
            Uncertainty
          </th>
          <th scope="col">Location</th>
          <th scope="col">Message</th>
        </tr>
      </thead>
      <tbody>
        {results.map(({ id, meta, timing }) => (
          <tr key={id}>
            <th scope="row" class="nowrap whole">
              <a href={`results/${id}`}>
                <Time at={meta.start_time ?? meta.due_time} />
              </a>
            </th>
            <td class="whole">
              <State tone={toneOf(meta.result, meta.result_category)} word={meta.result} />
            </td>
            <td class="number" data-label="Status">
              {meta.http_code ?? "–"}
            </td>
            <td class="number" data-label="Latency">
              {formatMs(timing.total)}
            </td>
            <td class="number" data-label="Uncertainty">
              {formatMs(timing.uncertainty)}
            </td>
            <td class="nowrap">{nameOfLocation(places, meta.location_id)}</td>
            <td class={meta.message !== null || meta.is_late ? "message whole" : "nothing"}>
              {meta.message ?? "–"}
              {meta.is_late && " (late)"}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </ScrollRegion>
);
