// Two buttons that move an item of a list up and down.
interface MoveButtonsProps {
  /** Names the item for screen readers. */
  readonly what: string;
  readonly at: number;
  /** The last index. */
  readonly last: number;
  readonly move: (to: number) => void;
}

export const MoveButtons = ({ what, at, last, move }: MoveButtonsProps) => (
  <span class="row keep">
    <button
      class="button"
      type="button"
      aria-label={`Move ${what} up`}
      disabled={at === 0}
      onClick={() => move(at - 1)}
    >
      ↑
    </button>
    <button
      class="button"
      type="button"
      aria-label={`Move ${what} down`}
      disabled={at === last}
      onClick={() => move(at + 1)}
    >
      ↓
    </button>
  </span>
);
