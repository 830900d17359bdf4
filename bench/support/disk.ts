// Bytes that tables take on disk, their indexes included.
import type { BenchDatabase } from "./database.ts";
import type { Figure } from "./figures.ts";

/** Tables that keep what lists and statistics do not need: their retention is the shorter one. */
const DETAILS = /content|detail/;

/** Its rows are gone when their results are stored; the space is used again. */
const LEDGER = "pending_runs";

export interface DiskUse {
  readonly all: number;
  readonly withoutDetails: number;
}

/** Between transactions. */
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
      .filter(({ name }) => name !== LEDGER && fits(String(name)))
      .reduce((total, { bytes }) => total + Number(bytes), 0);
  return { all: sum(() => true), withoutDetails: sum((name) => !DETAILS.test(name)) };
}

/** Bytes a result, for tables that had `before` without any. */
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
