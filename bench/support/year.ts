// Stores the statistics of one call in many locations over a year, as the aggregator folds them.
// There is one run each half hour, so that a month of one location has 100 to 200 distinct
// latencies.
import { KEPT_KINDS } from "../../src/model/periods.ts";
import type { CountedResult } from "../../src/model/counted-result.ts";
import type { ResultCode } from "../../src/model/result.ts";
import { PHASES } from "../../src/model/timing.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { inTransaction } from "../../src/store/database.ts";
import type { Database } from "../../src/store/database.ts";
import { statChanges, storeStatChanges } from "../../src/store/stats/fold.ts";
import { numberNames } from "../../src/store/names.ts";
import { openPostgres } from "../../src/store/postgres/postgres.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import type { Location } from "./database.ts";

const HALF_HOUR_MS = 1_800_000;
/** Half hours folded together: five days. */
const AT_ONCE = 240;

export interface Year {
  readonly call_id: string;
  readonly locations: number;
  /** Milliseconds since the epoch: the start of the year, and the end of its results. */
  readonly from: number;
  readonly to: number;
}

export async function storeYear(location: Location, year: Year): Promise<void> {
  const database =
    "url" in location
      ? openPostgres({ url: location.url })
      : openSqlite({ path: location.file, clock: systemClock });
  for (let at = 0; at < year.locations; at += 1)
    for (let time = year.from; time < year.to; time += AT_ONCE * HALF_HOUR_MS)
      await fold(database, resultsFrom(time, year, at));
  await database.kysely.destroy();
}

const fold = (database: Database, results: readonly CountedResult[]): Promise<void> =>
  inTransaction(database, async (transaction) => {
    const names = results.flatMap(({ call_id, location_id, result }) => [
      call_id,
      location_id,
      result,
    ]);
    const numberOf = await numberNames(transaction, [...KEPT_KINDS, ...names]);
    await storeStatChanges(transaction, statChanges(results, [], numberOf));
  });

/** Each makes up one in a hundred results; the rest are COMPLETE. */
const RARE: readonly ResultCode[] = [
  "HTTP_CLIENT_ERROR",
  "HTTP_SERVER_ERROR",
  "CONNECTION_ERROR",
  "MISSED",
];

const resultsFrom = (time: number, { call_id, to }: Year, location: number): CountedResult[] =>
  Array.from({ length: AT_ONCE }, (_, n) => {
    const at = time + n * HALF_HOUR_MS;
    const step = at / HALF_HOUR_MS + location * 12_345;
    const result = RARE[step % 100] ?? "COMPLETE";
    const latency = result === "MISSED" ? null : latencyOf(step, location);
    const micros = latency === null ? null : latency * 100;
    const phases = Object.fromEntries(
      PHASES.map((phase) => [phase, micros]),
    ) as CountedResult["phases"];
    return { call_id, location_id: `location-${location}`, result, time: at, latency, phases };
  }).filter(({ time: at }) => at < to);

/** Log-normal around a median of 150 ms or more, the same in every run (Box and Muller). */
function latencyOf(step: number, location: number): number {
  const [a, b] = [fractionOf(step), fractionOf(step + 0.5)];
  const normal = Math.sqrt(-2 * Math.log(a + 1e-9)) * Math.cos(2 * Math.PI * b);
  return Math.round((150 + 5 * location) * Math.exp(0.2 * normal));
}

const fractionOf = (step: number): number => {
  const value = Math.sin(step * 12.9898) * 43_758.5453;
  return value - Math.floor(value);
};
