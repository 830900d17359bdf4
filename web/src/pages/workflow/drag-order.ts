// Reordering a list by dragging a row by its handle, with a mouse, a pen or a finger.
import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";

/** Pixels from the edge of the window within which a drag scrolls it. */
const EDGE = 64;
const SCROLL_STEP = 16;

export interface Drag {
  readonly from: number;
  /** Where the row would go if it were dropped now. */
  readonly to: number;
  /** How far it was dragged down the page, in pixels. */
  readonly by: number;
}

interface Grip {
  readonly from: number;
  /** The position of the pointer on the page, in pixels. */
  readonly y: number;
}

/** `list` has a child for each row. Escape puts the row back. */
export function useDragOrder(
  list: RefObject<HTMLElement | null>,
  onMove: (from: number, to: number) => void,
) {
  const [grip, setGrip] = useState<Grip | null>(null);
  const [drag, setDrag] = useState<Drag | null>(null);
  const end = (): void => {
    setGrip(null);
    setDrag(null);
  };
  useEffect(() => {
    if (!grip) return undefined;
    const cancel = ({ key }: KeyboardEvent): void => {
      if (key === "Escape") end();
    };
    addEventListener("keydown", cancel);
    return () => removeEventListener("keydown", cancel);
  }, [grip]);
  return {
    drag,
    /** Returns the event handlers for the handle of a row. */
    handle: (from: number) => ({
      onPointerDown(event: PointerEvent) {
        if (event.button !== 0) return;
        (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
        setGrip({ from, y: event.pageY });
      },
      onPointerMove({ clientY, pageY }: PointerEvent) {
        if (!grip || !list.current) return;
        scrollAtEdge(clientY);
        setDrag({
          from: grip.from,
          to: placeAt(list.current, grip.from, clientY),
          by: pageY - grip.y,
        });
      },
      onPointerUp() {
        if (drag && drag.to !== drag.from) onMove(drag.from, drag.to);
        end();
      },
      onPointerCancel: end,
    }),
  };
}

/** Counts the other rows whose middle is above the pointer: they come before. */
function placeAt(list: HTMLElement, from: number, clientY: number): number {
  const others = Array.from(list.children).toSpliced(from, 1);
  return others.filter((row) => {
    const { top, height } = row.getBoundingClientRect();
    return top + height / 2 < clientY;
  }).length;
}

function scrollAtEdge(clientY: number): void {
  if (clientY < EDGE) scrollBy(0, -SCROLL_STEP);
  else if (clientY > innerHeight - EDGE) scrollBy(0, SCROLL_STEP);
}

/** Returns the edge of a row at which the dragged one would be dropped, if any. */
export function dropEdge({ from, to }: Drag, row: number): "before" | "after" | undefined {
  if (to === from || row === from) return undefined;
  if (to < from) return row === to ? "before" : undefined;
  return row === to ? "after" : undefined;
}
