// The port of statistics.
import type { PeriodKind } from "../../model/periods.ts";
import type { PeriodSummaries } from "../../model/stat.ts";
import type { RawResult, ResultCode } from "../../model/result.ts";

export interface StatQuery {
  readonly call_id: string;
  readonly kind: PeriodKind;
  /** Null: all locations together. */
  readonly location_id: string | null;
}

export interface PeriodRow {
  readonly time: number;
  readonly summaries: PeriodSummaries;
}

/** An entry of RAW statistics. */
export interface RawEntry {
  readonly id: string;
  readonly time: number;
  readonly latency: number | null;
  readonly http_code: number | null;
  readonly content_length: number | null;
}

export type Direction = "forwards" | "backwards";

export interface StatStore {
  period(query: StatQuery, time: number): Promise<PeriodSummaries>;
  /**
   * Periods with calls of these codes: forwards from the one that starts at `from`, oldest first,
   * or backwards from it, newest first; both inclusive.
   */
  periods(
    query: StatQuery,
    codes: readonly ResultCode[],
    from: number,
    direction: Direction,
    limit: number,
  ): Promise<PeriodRow[]>;
  /**
   * Single results with these codes from `from` (inclusive) on; `afterId` excludes those at `from`
   * up to that id.
   */
  raw(
    query: Omit<StatQuery, "kind">,
    codes: readonly ResultCode[],
    from: { readonly time: number; readonly afterId: string | null },
    direction: Direction,
    limit: number,
  ): Promise<RawEntry[]>;
  /** The raw rows of a period, to compute its statistics anew. */
  rawOfPeriod(query: StatQuery, time: number): Promise<RawResult[]>;
}
