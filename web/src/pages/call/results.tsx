// The results of a call, newest first, with filters.
import { useState } from "preact/hooks";
import { urlOf, withQuery } from "../../api.ts";
import { useList } from "../../lists.ts";
import { nameOfLocation } from "../../locations.tsx";
import type { Place } from "../../locations.tsx";
import { SelectField, TextField } from "../../parts/field.tsx";
import { MoreButton } from "../../parts/more-button.tsx";
import { Fault, Loading } from "../../parts/notice.tsx";
import { formatMs } from "../../parts/number.ts";
import { State } from "../../parts/state.tsx";
import { toneOf } from "../../parts/tone.ts";
import { instantOf, Time, zoneName } from "../../parts/time.tsx";
import { OUTCOMES } from "../result/outcomes.ts";
import type { ListedResult } from "./sample.ts";

const PAGE = 25;

const CATEGORIES = [
  { value: "", name: "Any" },
  { value: "PASS", name: "PASS" },
  { value: "WARNING", name: "WARNING" },
  { value: "FAIL", name: "FAIL" },
  { value: "NONE", name: "None: no call made" },
];

const TYPES = [
  { value: "", name: "Any" },
  ...Object.keys(OUTCOMES).map((value) => ({ value, name: value })),
];

interface Filters {
  readonly category: string;
  readonly type: string;
  readonly location_id: string;
  /** As in date-time fields, in the reader's time: `2026-11-22T14:05`. */
  readonly from: string;
  readonly to: string;
}

const ANY: Filters = { category: "", type: "", location_id: "", from: "", to: "" };

interface ResultsProps {
  readonly id: string;
  readonly places: readonly Place[];
}

export function Results({ id, places }: ResultsProps) {
  const [filters, setFilters] = useState(ANY);
  const query = {
    order: "desc",
    ...filters,
    from: instantOf(filters.from),
    to: instantOf(filters.to),
  };
  const list = useList<ListedResult>(
    ["calls", id, "results", query],
    withQuery(`calls/${id}/results/`, { ...query, limit: PAGE }),
  );
  const isFiltered = Object.values(filters).some((value) => value !== "");
  return (
    <section class="card" aria-labelledby="results">
      <header>
        <h2 id="results">Runs</h2>
        <a
          class="button no-print"
          href={urlOf(withQuery(`calls/${id}/results/export`, query))}
          download
        >
          Download as CSV<span class="visually-hidden">: runs</span>
        </a>
      </header>
      <FilterFields filters={filters} places={places} onChange={setFilters} />
      <Fault error={list.error} retry={list.refetch} />
      {!list.rows && !list.error && <Loading what="results" />}
      {list.rows?.length === 0 && (
        <p class="muted">{isFiltered ? "No results match. Change the filters." : "No runs yet."}</p>
      )}
      {list.rows !== undefined && list.rows.length > 0 && (
        <Rows results={list.rows} places={places} />
      )}
      <MoreButton list={list} />
    </section>
  );
}

interface FilterFieldsProps {
  readonly filters: Filters;
  readonly places: readonly Place[];
  readonly onChange: (filters: Filters) => void;
}

const FilterFields = ({ filters, places, onChange }: FilterFieldsProps) => (
  <div class="fields narrow no-print">
    <SelectField
      label="Category"
      value={filters.category}
      choices={CATEGORIES}
      onChange={(category) => onChange({ ...filters, category })}
    />
    <SelectField
      label="Result"
      value={filters.type}
      choices={TYPES}
      onChange={(type) => onChange({ ...filters, type })}
    />
    <SelectField
      label="From location"
      value={filters.location_id}
      choices={[
        { value: "", name: "Any" },
        ...places.filter(({ id }) => id !== "").map(({ id, name }) => ({ value: id, name })),
      ]}
      onChange={(location_id) => onChange({ ...filters, location_id })}
    />
    <TextField
      label={`From (${zoneName()})`}
      value={filters.from}
      input={{ type: "datetime-local" }}
      onInput={(from) => onChange({ ...filters, from })}
    />
    <TextField
      label={`Before (${zoneName()})`}
      value={filters.to}
      input={{ type: "datetime-local" }}
      onInput={(to) => onChange({ ...filters, to })}
    />
  </div>
);

interface RowsProps {
  readonly results: readonly ListedResult[];
  readonly places: readonly Place[];
}

const Rows = ({ results, places }: RowsProps) => (
  <div class="scroll-x" role="region" aria-label="Results" tabIndex={0}>
    <table class="blocks">
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
  </div>
);
