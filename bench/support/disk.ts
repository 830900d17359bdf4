// The size of tables on disk, including their indexes.
import type { BenchDatabase } from "./database.ts";
import type { Figure } from "./figures.ts";

/** Tables not needed by lists and statistics, kept for a shorter time. */
const DETAILS = /content|detail/;

/** Lose each row when its result is stored, or minutes later, and reuse the space. */
const PASSING: readonly string[] = ["pending_runs", "recorded"];

export interface DiskUse {
  readonly all: number;
  readonly withoutDetails: number;
}

/** Call it between transactions. */
export async function readDiskUse(database: BenchDatabase): Promise<DiskUse> {
  const rows = await database.query(
    database.file === undefined
      ? `select relname as name, pg_total_relation_size(oid) as bytes from pg_class
         where relkind = 'r' and relnamespace = 'public'::regnamespace`
      : `select coalesce(m.tbl_name, s.name) as name, sum(s.pgsize) as bytes
         from dbstat s left join sqlite_schema m on m.name = s.name group by 1`,
  );
  const sum = (fits: (name: string) => boolean): number =>
    rows
      .filter(({ name }) => !PASSING.includes(String(name)) && fits(String(name)))
      .reduce((total, { bytes }) => total + Number(bytes), 0);
  return { all: sum(() => true), withoutDetails: sum((name) => !DETAILS.test(name)) };
}

/** Bytes per result; `before` is the disk use without any results. */
export const diskFigures = (
  before: DiskUse,
  after: DiskUse,
  results: number,
): readonly Figure[] => [
  {
    what: "  disk a result, with its details",
    unit: "bytes",
    rounds: [(after.all - before.all) / results],
    goal: { atMost: 1200 },
  },
  {
    what: "  disk a result, without",
    unit: "bytes",
    rounds: [(after.withoutDetails - before.withoutDetails) / results],
    goal: { atMost: 350 },
  },
];
