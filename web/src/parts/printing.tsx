// Long tables on paper, which has no buttons and does not scroll: it needs the rows out of view.
import { useEffect, useState } from "preact/hooks";
import { formatCount } from "../number.ts";

/** Browsers hang for many seconds while they lay out more rows. */
export const MOST_PRINTED = 1000;

export function usePrinting(): boolean {
  const [isPrinting, setPrinting] = useState(false);
  useEffect(() => {
    const follow = ({ type }: Event): void => setPrinting(type === "beforeprint");
    addEventListener("beforeprint", follow);
    addEventListener("afterprint", follow);
    return () => {
      removeEventListener("beforeprint", follow);
      removeEventListener("afterprint", follow);
    };
  }, []);
  return isPrinting;
}

export const CutNote = () => <p>Only the first {formatCount(MOST_PRINTED)} rows are printed.</p>;
