// Buttons and keys that zoom and move the x axis of a chart.
import type { Range } from "./chart-spec.ts";

interface ZoomButtonsProps {
  /** The chart's title. */
  readonly of: string;
  readonly range: Range;
  readonly isZoomed: boolean;
  readonly onZoom: (range: Range | undefined) => void;
}

/** Returns the part between two shares of the range; below 0 and above 1 is outside. */
const part = ([start, end]: Range, from: number, to: number): Range => [
  start + (end - start) * from,
  start + (end - start) * to,
];

const MOVES = {
  in: (range: Range) => part(range, 0.25, 0.75),
  out: (range: Range) => part(range, -0.5, 1.5),
  earlier: (range: Range) => part(range, -0.5, 0.5),
  later: (range: Range) => part(range, 0.5, 1.5),
  all: () => undefined,
} as const;

type Move = keyof typeof MOVES;

const KEYS: Readonly<Record<string, Move>> = {
  "+": "in",
  "-": "out",
  ArrowLeft: "earlier",
  ArrowRight: "later",
  "0": "all",
};

const BUTTONS: readonly (readonly [move: Move, sign: string, name: string])[] = [
  ["earlier", "←", "Earlier"],
  ["in", "+", "Zoom in"],
  ["out", "−", "Zoom out"],
  ["later", "→", "Later"],
];

export function ZoomButtons({ of, range, isZoomed, onZoom }: ZoomButtonsProps) {
  const move = (name: Move): void => onZoom(MOVES[name](range));
  const press = (event: KeyboardEvent): void => {
    const name = KEYS[event.key];
    if (name === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    move(name);
  };
  return (
    <div
      class="zoom no-print"
      role="toolbar"
      aria-label={`Zoom: ${of}`}
      title="Keys: + − ← →, and 0 to reset"
      onKeyDown={press}
    >
      {BUTTONS.map(([name, sign, label]) => (
        <button
          key={name}
          class="button quiet"
          type="button"
          aria-label={label}
          title={label}
          onClick={() => move(name)}
        >
          {sign}
        </button>
      ))}
      <button
        class="button quiet"
        type="button"
        aria-disabled={!isZoomed}
        onClick={() => move("all")}
      >
        Reset
      </button>
    </div>
  );
}
