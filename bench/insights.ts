// The time for insights of a week of minutes on SQLite and PostgreSQL, for two numbers of calls,
// scaled to 10,000; with the memory used and the longest block of the event loop.
import { runBenchmark } from "./support/benchmark.ts";
import type { Benchmark } from "./support/benchmark.ts";
import { startComputer } from "./support/computing.ts";
import type { ComputedReports } from "./support/computing.ts";
import { createPostgres, createSqlite, NO_POSTGRES } from "./support/database.ts";
import type { BenchDatabase } from "./support/database.ts";
import type { Figure } from "./support/figures.ts";
import { copyTemplate, recordTemplate, RESULTS_OF_WEEK } from "./support/insights-load.ts";
import { cpuMs } from "./support/usage.ts";

const SIZES = [1_000_000, 2_000_000];
const SMOKE_RESULTS = 60;
const CALLS = 10_000;

await runBenchmark("insights", async (benchmark) => {
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
  const store = await database.openStore();
  const ofCall = options.smoke ? SMOKE_RESULTS : RESULTS_OF_WEEK;
  const sizes = options.smoke ? [2 * SMOKE_RESULTS] : (options.results ?? SIZES);
  await recordTemplate(store, ofCall);
  let calls = 1;
  for (const size of sizes) {
    const wanted = Math.max(calls, Math.round(size / ofCall));
    say(`${name}: ${wanted} calls with ${ofCall} results each`);
    await copyTemplate(store, database, wanted - calls);
    calls = wanted;
    const rounds = await computeRounds(database, calls, options.rounds);
    const perCall = rounds.map(({ ms }) => ms / calls);
    add(
      { what: `${name}, ${calls} calls: a call and week`, unit: "ms", rounds: perCall },
      {
        what: "  10,000 calls, in proportion",
        unit: "s",
        rounds: perCall.map((ms) => (ms * CALLS) / 1000),
        goal: { atMost: 300 },
      },
      { what: "  CPU a call", unit: "ms", rounds: rounds.map(({ cpu }) => cpu / calls) },
      ...(database.pid === undefined ? [] : [withServer(rounds, calls)]),
      { what: "  longest block", unit: "ms", rounds: rounds.map(({ blockMs }) => blockMs) },
      { what: "  memory, growth", unit: "MB", rounds: rounds.map(({ growthMb }) => growthMb) },
    );
  }
  await store.close();
}

interface Round extends ComputedReports {
  /** CPU milliseconds of the database server meanwhile. */
  readonly serverCpu: number;
}

/** Runs each round in its own process. */
async function computeRounds(
  database: BenchDatabase,
  calls: number,
  count: number,
): Promise<Round[]> {
  const rounds: Round[] = [];
  const serverCpu = () => (database.pid === undefined ? 0 : cpuMs(database.pid));
  for (let round = 0; round < count; round += 1) {
    await database.query("delete from leases");
    await using computer = startComputer(database.location);
    const before = serverCpu();
    const computed = await computer.ask("compute");
    if (computed.reports !== calls)
      throw new Error(`${computed.reports} of ${calls} reports were computed`);
    rounds.push({ ...computed, serverCpu: serverCpu() - before });
  }
  return rounds;
}

/** Adds the server's CPU: on a single core, the two would take turns. */
function withServer(rounds: readonly Round[], calls: number): Figure {
  return {
    what: "  CPU of 10,000 calls, with the server",
    unit: "s",
    rounds: rounds.map(({ cpu, serverCpu }) => ((cpu + serverCpu) / calls) * (CALLS / 1000)),
    goal: { atMost: 300 },
  };
}
