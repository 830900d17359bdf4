// Results per second recorded and folded into statistics as the table grows, and the disk space of
// each, on SQLite and PostgreSQL. Batches are those of a backlog: 5,000 results of 1,000 calls, with
// details, which are due from now on, a minute apart.
import { runBenchmark } from "./support/benchmark.ts";
import type { Benchmark } from "./support/benchmark.ts";
import { createPostgres, createSqlite, NO_POSTGRES } from "./support/database.ts";
import type { BenchDatabase } from "./support/database.ts";
import { diskFigures, readDiskUse } from "./support/disk.ts";
import type { DiskUse } from "./support/disk.ts";
import type { Figure } from "./support/figures.ts";
import { FOLDED_BATCH, startFolder } from "./support/folding.ts";
import type { Folded } from "./support/folding.ts";
import { cpuMs } from "./support/usage.ts";

const SIZES = [100_000, 1_000_000];
const SMOKE_SIZES = [0];
/** Batches per round. */
const BATCHES = 2;

const RATE_GOALS = { SQLite: 20_000, PostgreSQL: 10_000 };

await runBenchmark("aggregator", async (benchmark) => {
  await using sqlite = createSqlite();
  await measure(benchmark, "SQLite", sqlite);
  if (benchmark.options.smoke) return;
  await using postgres = await createPostgres();
  if (postgres) await measure(benchmark, "PostgreSQL", postgres);
  else benchmark.skip(NO_POSTGRES);
});

async function measure(
  { options, say, add }: Benchmark,
  name: "SQLite" | "PostgreSQL",
  database: BenchDatabase,
): Promise<void> {
  await using folder = startFolder(database.location);
  const batches = options.smoke ? 1 : BATCHES;
  const empty = await emptyDiskUse(database);
  let stored = 0;
  let first: readonly number[] | undefined;
  for (const size of options.results ?? (options.smoke ? SMOKE_SIZES : SIZES)) {
    say(`${name}: up to ${size} results`);
    for (; stored < size; stored += batches * FOLDED_BATCH) await folder.ask(batches);
    const rounds: (Folded & { readonly server: number })[] = [];
    for (let round = 0; round < options.rounds; round += 1) {
      const before = database.pid === undefined ? 0 : cpuMs(database.pid);
      const folded = await folder.ask(batches);
      const server = database.pid === undefined ? 0 : cpuMs(database.pid) - before;
      rounds.push({ ...folded, server });
    }
    stored += options.rounds * batches * FOLDED_BATCH;
    const results = batches * FOLDED_BATCH;
    const cost = rounds.map(({ ms }) => ms / results);
    add(
      {
        what: `${name}, ${size.toLocaleString("en-US")} stored: folded`,
        unit: "results a second",
        rounds: rounds.map(({ ms }) => (1000 * results) / ms),
        goal: { atLeast: RATE_GOALS[name] },
      },
      costFigure(cost, first),
      {
        what: "  CPU a result, aggregator",
        unit: "ms",
        rounds: rounds.map(({ cpu }) => cpu / results),
      },
      ...(database.pid === undefined
        ? []
        : [
            {
              what: "  CPU a result, PostgreSQL, ordering its run included",
              unit: "ms",
              rounds: rounds.map(({ server }) => server / results),
            },
          ]),
      ...diskFigures(empty, await readDiskUse(database), stored),
    );
    first ??= cost;
  }
}

/** Measures the schema alone. */
async function emptyDiskUse(database: BenchDatabase): Promise<DiskUse> {
  const store = await database.openStore();
  await store.close();
  return readDiskUse(database);
}

/** Compares with the smallest table. */
function costFigure(rounds: readonly number[], first: readonly number[] | undefined): Figure {
  const figure = { what: "  time a result", unit: "ms", rounds };
  if (!first) return figure;
  const goal = { ratioAtMost: 1.2 } as const;
  return { ...figure, beside: { what: "smallest table", rounds: first }, goal };
}
