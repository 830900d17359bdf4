// Stores insights reports, computed from outcomes by the rules of the score.
import { insightId } from "../../src/model/insight.ts";
import type { InsightDetails, InsightKind } from "../../src/model/insight.ts";
import { ownedBy } from "../../src/model/access.ts";
import type { Actor } from "../../src/model/access.ts";
import { NO_PHASES } from "../../src/model/timing.ts";
import type { Store } from "../../src/store/store.ts";
import { scoreOf } from "./score.ts";

/** A Monday. */
export const WEEK = Date.UTC(2026, 8, 21);
export const WEEK_MS = 7 * 86_400_000;

export interface GivenInsight {
  readonly call_id: string;
  readonly kind?: InsightKind;
  readonly start?: number;
  readonly of?: Actor;
  /** Calls that passed, each in 100 ms. */
  readonly passed?: number;
  readonly failed?: number;
  readonly slow?: number;
  readonly details?: Partial<InsightDetails>;
}

/** Stores a report and returns its id. */
export async function storeInsight(
  store: Store,
  {
    call_id,
    kind = "WEEK",
    start = WEEK,
    of = { owner: "ann", org: null },
    passed = 100,
    failed = 0,
    slow = 0,
    details = {},
  }: GivenInsight,
): Promise<string> {
  const latencies = [
    { latency: 100, count: passed, uncertain: 0 },
    { latency: 900, count: slow, uncertain: 0 },
  ];
  const made = passed + slow + failed;
  const { parts, locations, ...score } = scoreOf(made, [
    { location_id: "local", passed: latencies },
  ]);
  const key = { call_id, kind, start };
  await store.insights.settle(await store.insights.renewMark(key), {
    ...key,
    ...ownedBy(of),
    ...score,
    details: {
      parts,
      percentiles: { p50: 100, p75: 100, p90: 100, p95: 100, p99: 100 },
      phases: NO_PHASES,
      missed: 0,
      locations: locations.map((spread) => ({
        ...spread,
        made,
        pass_percent: score.pass_percent,
      })),
      failures: failed > 0 ? [{ result: "HTTP_SERVER_ERROR", count: failed }] : [],
      worst_hours: [],
      outliers: [],
      ...details,
    },
  });
  return insightId(key);
}
