// The list of calls, each with its current state and its last 24 hours.
import { useLocation } from "preact-iso";
import { useEffect, useMemo, useState } from "preact/hooks";
import { pathOf, useAddress } from "../../address.ts";
import type { CallOverview } from "../../call-overview.ts";
import { useLocations } from "../../locations.tsx";
import { useNow } from "../../now.ts";
import { Empty, Fault } from "../../parts/notice.tsx";
import { formatCount } from "../../number.ts";
import { PageHead } from "../../parts/page-head.tsx";
import { State } from "../../parts/state.tsx";
import type { Tone } from "../../tone.ts";
import { has } from "../../session.ts";
import { VirtualTable } from "./virtual-table.tsx";
import "../../styles/calls.css";
import { columnsAt } from "./columns.tsx";
import { calls, fault, isReading, readCalls, useCalls } from "./overview.ts";
import { matching, queryOf, select, selectionOf, tagsOf, TONES, toneOfCall } from "./selection.ts";
import type { Selection } from "./selection.ts";

export function CallsPage() {
  useCalls();
  const known = calls.value;
  return (
    <>
      <PageHead title="Calls">
        {has("EDITOR") && known?.length !== 0 && (
          <a class="button primary" href="calls/new">
            New call
          </a>
        )}
      </PageHead>
      <Fault error={fault.value} retry={readCalls} />
      {known?.length === 0 && <NoCalls />}
      {(known ? known.length > 0 : !fault.value) && <Table known={known} />}
    </>
  );
}

const NoCalls = () => (
  <Empty title="No calls yet">
    <p>
      A call is an HTTP request that Sonde makes for you, from one or more locations, as often as
      every minute, and measures phase by phase.
    </p>
    {has("EDITOR") ? (
      <>
        <a class="button primary" href="calls/new">
          New call
        </a>
        <p>
          Already have a request? Paste it into the form as cURL: in a browser's network panel, use
          "Copy as cURL" on any request.
        </p>
      </>
    ) : (
      <p>Your key is read-only. Ask someone with an EDITOR key.</p>
    )}
  </Empty>
);

/** The same breakpoint as in calls.css. */
const NARROW = matchMedia("(max-width: 68rem)");
const [ROW, NARROW_ROW] = [56, 104];
const AGO_EVERY_MS = 5000;

function useRowHeight(): number {
  const [isNarrow, setNarrow] = useState(NARROW.matches);
  useEffect(() => {
    const follow = (): void => setNarrow(NARROW.matches);
    NARROW.addEventListener("change", follow);
    return () => NARROW.removeEventListener("change", follow);
  }, []);
  return isNarrow ? NARROW_ROW : ROW;
}

function Table({ known = [] }: { readonly known: readonly CallOverview[] | undefined }) {
  const { route } = useLocation();
  const [query, changeAddress] = useAddress();
  const selection = useMemo(() => selectionOf(query), [query]);
  const choose = (change: Partial<Selection>): void =>
    changeAddress(queryOf({ ...selection, ...change }));
  const rows = useMemo(() => select(known, selection), [known, selection]);
  const columns = columnsAt(useNow(AGO_EVERY_MS), useLocations());
  const rowHeight = useRowHeight();
  const { column, descending } = selection.sorting;
  return (
    <>
      <Filters known={known} selection={selection} choose={choose} shown={rows.length} />
      {known.length > 0 && rows.length === 0 ? (
        <p class="muted">No call matches: change the search or the filter.</p>
      ) : (
        <VirtualTable
          rows={rows}
          columns={columns}
          rowHeight={rowHeight}
          sorting={selection.sorting}
          onSort={(id) =>
            choose({ sorting: { column: id, descending: id === column && !descending } })
          }
          onOpen={({ id }) => route(pathOf(`calls/${id}`))}
        />
      )}
    </>
  );
}

interface FiltersProps {
  readonly known: readonly CallOverview[];
  readonly selection: Selection;
  readonly choose: (change: Partial<Selection>) => void;
  readonly shown: number;
}

function Filters({ known, selection, choose, shown }: FiltersProps) {
  const { text, tag } = selection;
  const tags = useMemo(() => tagsOf(known), [known]);
  return (
    <div class="call-filters">
      <input
        type="search"
        aria-label="Search the calls"
        placeholder="Search by name, host or tag"
        value={text}
        onInput={({ currentTarget }) => choose({ text: currentTarget.value })}
      />
      <select
        aria-label="Tag"
        value={tag}
        onChange={({ currentTarget }) => choose({ tag: currentTarget.value })}
      >
        <option value="">All tags</option>
        {[...new Set([...tags, ...(tag ? [tag] : [])])].map((each) => (
          <option key={each} value={each}>
            {each}
          </option>
        ))}
      </select>
      <div class="row states">
        <States known={known} selection={selection} choose={choose} />
        <span class="muted small" role="status">
          {calls.value === undefined ? "Loading calls …" : inWords(shown, known.length)}
          {calls.value !== undefined && isReading.value && " …"}
        </span>
      </div>
    </div>
  );
}

const inWords = (shown: number, all: number): string => {
  const calls = all === 1 ? "1 call" : `${formatCount(all)} calls`;
  return shown === all ? calls : `${formatCount(shown)} of ${calls}`;
};

function States({ known, selection, choose }: Omit<FiltersProps, "shown">) {
  const { text, tag, state } = selection;
  const counts = useMemo(() => {
    const found = Map.groupBy(matching(known, { text, tag }), toneOfCall);
    return (tone: Tone): number => found.get(tone)?.length ?? 0;
  }, [known, text, tag]);
  return (
    <div class="row" role="group" aria-label="State">
      {TONES.map((tone) => (
        <button
          key={tone}
          class="button quiet state-filter"
          type="button"
          aria-pressed={tone === state}
          onClick={() => choose({ state: tone === state ? "" : tone })}
        >
          <State tone={tone} />
          <span class="number">{calls.value ? formatCount(counts(tone)) : "–"}</span>
        </button>
      ))}
    </div>
  );
}
