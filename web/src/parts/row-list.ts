// Adds rows to a list in a form, and removes them, without losing the keyboard's focus.
import { useLayoutEffect, useRef } from "preact/hooks";
import { announce } from "../announcement.tsx";

interface RowListOptions<T> {
  readonly rows: readonly T[];
  /** What one of them is called, such as `header`. */
  readonly noun: string;
  readonly newRow: () => T;
  readonly onChange: (rows: readonly T[]) => void;
}

/** In `list`, each row has the class `row-of-list`, and the button that adds one has `add`. */
export function useRowList<T>(
  list: { readonly current: HTMLElement | null },
  { rows, noun, newRow, onChange }: RowListOptions<T>,
) {
  /** The index of the row to focus once it is rendered; without such a row, the button. */
  const wanted = useRef<number>(undefined);
  useLayoutEffect(() => {
    if (wanted.current === undefined) return;
    const row = list.current?.querySelectorAll(".row-of-list")[wanted.current];
    const next = row?.querySelector("input") ?? list.current?.querySelector<HTMLElement>(".add");
    next?.focus();
    wanted.current = undefined;
  });
  return {
    add: (): void => {
      wanted.current = rows.length;
      onChange([...rows, newRow()]);
      announce(`Added ${noun} ${rows.length + 1}`);
    },
    remove: (at: number): void => {
      wanted.current = Math.min(at, rows.length - 2);
      onChange(rows.toSpliced(at, 1));
      announce(`Removed ${noun} ${at + 1}`);
    },
  };
}
