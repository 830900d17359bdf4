// Which row of the table of calls has the focus, and which one gets it.
import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { CallOverview } from "../../call-overview.ts";

/**
 * Leaves the focus where it is while rows move, and moves it only from a row that is no longer
 * listed. Returns the index of its row, which must stay in the document; −1: none has it.
 */
export function useFocusedRow(
  view: RefObject<HTMLElement | null>,
  rows: readonly CallOverview[],
): number {
  const active = document.activeElement as HTMLElement | null; // :focus needs an active window
  const row = active?.closest<HTMLElement>("[data-row]");
  const focused = row && view.current?.contains(row) ? active : null;
  useLayoutEffect(() => {
    if (!focused || document.activeElement !== document.body) return;
    const next = focused.isConnected ? focused : view.current?.querySelector<HTMLElement>(REACHED);
    next?.focus({ preventScroll: true });
  });
  const id = focused?.closest<HTMLElement>("[data-call]")?.dataset["call"];
  return id === undefined ? -1 : rows.findIndex((row) => row.id === id);
}

/** The row that the tab key reaches. */
const REACHED = "[data-row][tabindex='0']";

/** Returns a ref: while true, the active row gets the focus once it is in the document. */
export function useFocus(view: RefObject<HTMLElement | null>, active: number): RefObject<boolean> {
  const wantsFocus = useRef(false);
  useLayoutEffect(() => {
    if (!wantsFocus.current) return;
    const row = view.current?.querySelector<HTMLElement>(`[data-row="${active}"]`);
    if (!row) return;
    row.focus({ preventScroll: true });
    wantsFocus.current = false;
  });
  return wantsFocus;
}

/** Returns the row that a key moves to; undefined if it moves nothing. */
export function moved(key: string, from: number, page: number, last: number): number | undefined {
  const to: Readonly<Record<string, number>> = {
    ArrowDown: from + 1,
    ArrowUp: from - 1,
    PageDown: from + page,
    PageUp: from - page,
    Home: 0,
    End: last,
  };
  const next = to[key];
  return next === undefined ? undefined : Math.min(Math.max(next, 0), last);
}
