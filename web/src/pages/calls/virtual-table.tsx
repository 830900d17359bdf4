// The table of calls; only the rows in view are in the document, but all on paper. Arrow keys,
// Home, End, Page Up and Page Down move from row to row, Enter opens one.
import {
  defaultRangeExtractor,
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
} from "@tanstack/virtual-core";
import type { Range } from "@tanstack/virtual-core";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { CallOverview } from "../../call-overview.ts";
import { CutNote, MOST_PRINTED, usePrinting } from "../../parts/printing.tsx";
import "../../styles/virtual-table.css";
import { moved, useFocus, useFocusedRow } from "./row-focus.ts";
import type { Selection } from "./selection.ts";

export interface Column {
  readonly id: string;
  readonly title: string;
  /** The tooltip of the column's head. */
  readonly hint?: string;
  readonly cell: (call: CallOverview) => ComponentChildren;
  /** Whether its cells name their rows. */
  readonly names?: boolean;
  /** Whether the table can be sorted by it. */
  readonly sorts?: boolean;
}

interface VirtualTableProps {
  readonly rows: readonly CallOverview[];
  readonly columns: readonly Column[];
  /** Pixels. */
  readonly rowHeight: number;
  readonly sorting: Selection["sorting"];
  readonly onSort: (column: string) => void;
  readonly onOpen: (call: CallOverview) => void;
}

/** Where the reader is in a table: browsers restore only the document's place. */
interface Place {
  /** Pixels. */
  readonly top: number;
  /** The index of the row that the keyboard reaches. */
  readonly active: number;
}

/** Returns the place that the history's entry keeps. */
const placeKept = (): Place =>
  (history.state as { readonly place?: Place } | null)?.place ?? { top: 0, active: 0 };

const keepPlace = (place: Place): void => history.replaceState({ place }, "");

/** The size in pixels before the first measurement. */
const FIRST_VIEW = { width: 1000, height: 700 };

function useVirtualizer(rows: readonly CallOverview[], rowHeight: number, top: number) {
  const count = rows.length;
  const view = useRef<HTMLDivElement>(null);
  const focused = useFocusedRow(view, rows);
  const [, renderAgain] = useState({});
  const options = {
    count,
    estimateSize: () => rowHeight,
    getScrollElement: () => view.current,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    overscan: 6,
    rangeExtractor: (range: Range) => {
      const indexes = defaultRangeExtractor(range);
      if (focused === -1 || indexes.includes(focused)) return indexes;
      return [...indexes, focused].toSorted((a, b) => a - b);
    },
    initialRect: FIRST_VIEW,
    // Not in a table that may be too short to scroll.
    initialOffset: count * rowHeight > innerHeight ? top : 0,
    onChange: () => renderAgain({}),
  };
  const [virtualizer] = useState(() => new Virtualizer<HTMLDivElement, HTMLElement>(options));
  virtualizer.setOptions({ ...virtualizer.options, ...options });
  // What the library's own adapters for other frameworks call.
  useLayoutEffect(() => virtualizer["_didMount"](), [virtualizer]);
  useLayoutEffect(() => virtualizer["_willUpdate"]());
  useLayoutEffect(() => virtualizer.measure(), [virtualizer, rowHeight]);
  const isPrinting = usePrinting();
  const items = isPrinting
    ? Array.from({ length: Math.min(count, MOST_PRINTED) }, (_, index) => ({ index, start: 0 }))
    : virtualizer.getVirtualItems();
  return { view, virtualizer, items, focused, isCut: isPrinting && count > MOST_PRINTED };
}

export function VirtualTable(props: VirtualTableProps) {
  const { rows, columns, rowHeight, onOpen } = props;
  const [first] = useState(placeKept);
  const { view, virtualizer, items, focused, isCut } = useVirtualizer(rows, rowHeight, first.top);
  const [active, setActive] = useState(first.active);
  const wantsFocus = useFocus(view, active);
  const current = focused === -1 || wantsFocus.current ? active : focused;
  const reached = items.some(({ index }) => index === current) ? current : items[0]?.index;
  const keepAt = (row: number): void =>
    keepPlace({ top: view.current?.scrollTop ?? 0, active: row });
  const onKeyDown = (event: KeyboardEvent): void => {
    const from = Number((event.target as HTMLElement).dataset["row"]);
    if (Number.isNaN(from)) return;
    const page = Math.max(1, Math.floor((view.current?.clientHeight ?? 0) / rowHeight) - 1);
    const next = moved(event.key, from, page, rows.length - 1);
    if (event.key === "Enter") {
      keepAt(from);
      onOpen(rows[from] as CallOverview);
    }
    if (next === undefined) return;
    event.preventDefault();
    wantsFocus.current = true;
    setActive(next);
    virtualizer.scrollToIndex(next);
  };
  return (
    <div
      ref={view}
      class="grid-table calls"
      role="table"
      aria-label="Calls"
      aria-rowcount={rows.length + 1}
      onKeyDown={onKeyDown}
      onClick={({ target }) => keepAt(rowOf(target as Element) ?? active)}
    >
      <Head {...props} />
      <div class="grid-body" role="rowgroup" style={{ height: `${virtualizer.getTotalSize()}px` }}>
        {items.map(({ index, start }) => {
          const row = rows[index];
          return (
            row !== undefined && (
              <Row
                key={row.id}
                {...{ row, columns, rowHeight, index, start }}
                isReached={index === reached}
                onFocus={() => setActive(index)}
              />
            )
          );
        })}
      </div>
      {isCut && <CutNote />}
    </div>
  );
}

interface RowProps extends Pick<VirtualTableProps, "columns" | "rowHeight"> {
  readonly row: CallOverview;
  readonly index: number;
  /** Pixels. */
  readonly start: number;
  /** Whether the tab key reaches it. */
  readonly isReached: boolean;
  readonly onFocus: () => void;
}

const Row = ({ row, columns, rowHeight, index, start, isReached, onFocus }: RowProps) => (
  <div
    class="grid-row"
    role="row"
    aria-rowindex={index + 2}
    data-row={index}
    data-call={row.id}
    tabIndex={isReached ? 0 : -1}
    style={{ height: `${rowHeight}px`, transform: `translateY(${start}px)` }}
    onFocus={onFocus}
  >
    {columns.map(({ id, cell, names }) => (
      <div key={id} role={names ? "rowheader" : "cell"} class={`col-${id}`}>
        {cell(row)}
      </div>
    ))}
  </div>
);

/** Returns the index of the row that an element is in. */
function rowOf(element: Element): number | undefined {
  const row = element.closest<HTMLElement>("[data-row]");
  return row ? Number(row.dataset["row"]) : undefined;
}

const Head = ({ columns, sorting, onSort }: VirtualTableProps) => (
  <div role="rowgroup" class="grid-head">
    <div class="grid-row" role="row" aria-rowindex={1}>
      {columns.map(({ id, title, hint, sorts }) => {
        const order = sorting.descending ? "descending" : "ascending";
        const isSorted = sorting.column === id;
        return (
          <div
            key={id}
            role="columnheader"
            class={`col-${id}`}
            title={hint}
            aria-sort={sorts ? (isSorted ? order : "none") : undefined}
          >
            {sorts ? (
              <button class="sort" type="button" onClick={() => onSort(id)}>
                {title}
                <span aria-hidden="true">{isSorted ? (sorting.descending ? " ↓" : " ↑") : ""}</span>
              </button>
            ) : (
              title
            )}
          </div>
        );
      })}
    </div>
  </div>
);
