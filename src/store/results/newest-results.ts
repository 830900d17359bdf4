// Reads the newest results of calls at single locations. No index finds them: the statistics give
// the day and the hour of each, and an index has the call's results of that hour by time.
import { sql } from "kysely";
import type { RawBuilder } from "kysely";
import { DAY_MS, HOUR_MS, periodStart } from "../../model/periods.ts";
import type { KeptKind } from "../../model/periods.ts";
import { latencyOf } from "../../model/result.ts";
import type { ResultCode } from "../../model/result.ts";
import type { Database } from "../database.ts";
import { numbersOf, selectNumber } from "../names.ts";
import { idsOfStarts } from "../result-days.ts";

/**
 * Days to search, in UTC, up to and including today. A deployment has an outcome each day, except
 * one skipped by a change of its delay: older results do not describe the current deployments.
 */
const DAYS = 4;

/** Hours to search first. */
const LATELY = 3;

/** A call, and where it runs. */
export interface CallAt {
  readonly call_id: string;
  readonly location_id: string;
}

export interface NewestResult extends CallAt {
  readonly result_id: string;
  readonly result: ResultCode;
  readonly time: number;
  readonly latency: number | null;
}

type Row = Omit<NewestResult, "latency"> & { readonly total: number | null };

/** Returns at most one result for each place: the latest in `DAYS`, by its start or due time. */
export async function readNewestAt(
  database: Database,
  places: readonly CallAt[],
  now: number,
): Promise<NewestResult[]> {
  const range = { start: periodStart("DAY", now) - (DAYS - 1) * DAY_MS, end: now + HOUR_MS };
  const ids = await idsOfStarts(database, range);
  const { rows } = await sql<Row>`
    with places as materialized (${await givenPlaces(database, places)}),
    ${hoursOfPlaces(database, now)},
    newest as materialized (
      select call, location, (
        select time from results
        where results.call = hours.call and results.location + 0 = hours.location
          and time >= start and time < start + ${sql.lit(HOUR_MS)} and ${ids}
        order by time desc limit 1
      ) as time
      from hours where start is not null
    )
    select calls.name as call_id, locations.name as location_id, results.id as result_id,
      codes.name as result, results.time, total
    from newest cross join results
    join names as calls on calls.id = results.call
    join names as locations on locations.id = results.location
    join names as codes on codes.id = results.result
    where results.call = newest.call and results.time = newest.time
      and results.location + 0 = newest.location and ${ids}
    order by results.id`.execute(database.kysely);
  // Of several results with the same time, the last is the newest.
  return [...new Map(rows.map((row) => [`${row.call_id} ${row.location_id}`, row])).values()].map(
    ({ total, ...row }) => ({ ...row, latency: latencyOf(total) }),
  );
}

/** Makes the table `hours`: when the hour of each place's newest result starts, or null. */
function hoursOfPlaces(database: Database, now: number): RawBuilder<unknown> {
  const back = (kind: KeptKind, count: number, unit: number): RawBuilder<unknown> => {
    const starts = Array.from({ length: count }, (_, n) => periodStart(kind, now) - n * unit);
    return sql`period in (${sql.join(starts)})`;
  };
  const newest = (of: string, kind: KeptKind, isAmongThem: RawBuilder<unknown>) => sql`
    select max(period) from stats
    where stats.kind = (${selectNumber(database, kind)}) and ${isAmongThem}
      and stats.call = ${sql.ref(`${of}.call`)} and stats.location = ${sql.ref(`${of}.location`)}
      and stats.count > 0`;
  const ofDay = sql`period >= day and period < day + ${sql.lit(DAY_MS)}`;
  return sql`
    lately as materialized (
      select call, location, (${newest("places", "HOUR", back("HOUR", LATELY, HOUR_MS))}) as hour
      from places
    ),
    days as materialized (
      select call, location, hour,
        case when hour is null then (${newest("lately", "DAY", back("DAY", DAYS, DAY_MS))}) end
          as day
      from lately
    ),
    hours as materialized (
      select call, location, coalesce(hour, (${newest("days", "HOUR", ofDay)})) as start from days
    )`;
}

/** Selects the places as numbers; a call or a location without a number has no results. */
async function givenPlaces(
  database: Database,
  places: readonly CallAt[],
): Promise<RawBuilder<unknown>> {
  const names = new Set(places.flatMap(({ call_id, location_id }) => [call_id, location_id]));
  const numbers = await numbersOf(database, [...names]);
  const given = places.flatMap(({ call_id, location_id }) => {
    const [call, location] = [numbers.get(call_id), numbers.get(location_id)];
    return call === undefined || location === undefined ? [] : [[call, location]];
  });
  if (!database.rowLocks)
    return sql`select value ->> 0 as call, value ->> 1 as location
      from json_each(${JSON.stringify(given)})`;
  const column = (at: number): RawBuilder<unknown> =>
    sql`${given.map((place) => place[at])}::int[]`;
  return sql`select * from unnest(${column(0)}, ${column(1)}) as given (call, location)`;
}
