// Two buttons that move an item of a list up and down.
import { useLayoutEffect, useRef } from "preact/hooks";

interface MoveButtonsProps {
  /** Names the item for screen readers. */
  readonly what: string;
  readonly at: number;
  /** The last index. */
  readonly last: number;
  readonly move: (to: number) => void;
}

/** Avoids `disabled`, which would lose the focus when an item reaches an end of the list. */
export function MoveButtons({ what, at, last, move }: MoveButtonsProps) {
  const pressed = useRef<HTMLElement | null>(null);
  useLayoutEffect(() => {
    pressed.current?.focus(); // browsers drop the focus when an element is moved
    pressed.current = null;
  });
  const buttonTo = (to: number, way: string, arrow: string) => (
    <button
      class="button"
      type="button"
      aria-label={`Move ${what} ${way}`}
      aria-disabled={to < 0 || to > last}
      onClick={({ currentTarget }) => {
        pressed.current = currentTarget;
        move(to);
      }}
    >
      {arrow}
    </button>
  );
  return (
    <span class="row keep">
      {buttonTo(at - 1, "up", "↑")}
      {buttonTo(at + 1, "down", "↓")}
    </span>
  );
}
