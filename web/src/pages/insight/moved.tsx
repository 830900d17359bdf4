// A number's change from the previous period: a shape, a word and a colour.
import { count } from "../../../../src/model/count.ts";
import type { InsightKind } from "../../../../src/model/insight.ts";
import { wordOf } from "../../periods.ts";

interface MovedProps {
  /** 0: unchanged. */
  readonly by: number;
  /** Undefined: neither better nor worse. */
  readonly isBetter: boolean | undefined;
  readonly unit: string;
  /** Precedes the number, such as `cost`. */
  readonly verb?: string;
  readonly period: InsightKind;
}

export function Moved({ by, isBetter, unit, verb, period }: MovedProps) {
  if (by === 0) return <span class="moved">as in the {wordOf(period)} before</span>;
  const tone = isBetter === undefined ? "" : isBetter ? "better" : "worse";
  return (
    <span class={`moved ${tone}`}>
      <span aria-hidden="true">{by > 0 ? "▲" : "▼"}</span> {verb && `${verb} `}
      {count(Math.abs(by), unit)} {by > 0 ? "more" : "fewer"} than the {wordOf(period)} before
      {tone && <span class="visually-hidden">, {tone}</span>}
    </span>
  );
}
