// The API's response times for the statistics of one call in twenty locations, one request at a
// time, on SQLite and PostgreSQL.
import { runBenchmark } from "./support/benchmark.ts";
import type { Benchmark } from "./support/benchmark.ts";
import { API_KEY, createPostgres, createSqlite, NO_POSTGRES } from "./support/database.ts";
import type { BenchDatabase } from "./support/database.ts";
import { deploy } from "./support/deployments.ts";
import type { Goal } from "./support/figures.ts";
import { startSonde } from "./support/sonde.ts";
import { quantile } from "./support/statistics.ts";
import { storeYear } from "./support/year.ts";

const LOCATIONS = 20;
const FROM = Date.UTC(2025, 0, 1);
const TO = Date.UTC(2026, 0, 1);
const SMOKE = { locations: 2, to: FROM + 86_400_000 };
/** Requests of each kind: to warm up, and in a round. */
const [WARM_UP, REQUESTS] = [5, 15];

interface Operation {
  readonly what: string;
  /** Path below the call. */
  readonly path: string;
  /** Applies to SQLite only. */
  readonly goal?: Goal;
}

const OPERATIONS: readonly Operation[] = [
  { what: "the year", path: "stats/?kind=YEAR&time=2025-06-01", goal: { atMost: 20 } },
  { what: "a month", path: "stats/?kind=MONTH&time=2025-06-01" },
  { what: "52 weeks", path: "stats/since?kind=WEEK&time=2025-01-01&limit=52" },
  { what: "365 days", path: "stats/since?kind=DAY&time=2025-01-01&limit=365" },
];

await runBenchmark("stats", async (benchmark) => {
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
  const later = (Math.floor(Date.now() / 86_400_000) + 2) * 86_400_000;
  const group = { url: "https://host.test/", count: 1, firstDue: later, seconds: 1 };
  const [[call_id = ""] = []] = await deploy(database, [{ ...group, frequency: 1440 }]);
  const { locations, to } = options.smoke ? SMOKE : { locations: LOCATIONS, to: TO };
  say(`${name}: storing the statistics of ${locations} locations`);
  await storeYear(database.location, { call_id, locations, from: FROM, to });
  if (name === "PostgreSQL") await database.query("analyze");
  await using sonde = await startSonde({ core: "measured", env: database.env });
  for (const { what, path, goal } of options.smoke ? OPERATIONS.slice(0, 1) : OPERATIONS) {
    say(`${name}: ${what}`);
    const url = `${sonde.apiUrl}/api/2/calls/${call_id}/${path}`;
    const rounds: number[] = [];
    await timesOf(url, WARM_UP);
    for (let round = 0; round < options.rounds; round += 1)
      rounds.push(quantile(await timesOf(url, options.smoke ? 1 : REQUESTS), 0.5));
    add({
      what: `${name}, ${locations} locations: ${what}`,
      unit: "ms",
      rounds,
      ...(goal && name === "SQLite" && { goal }),
    });
  }
}

/** Returns the milliseconds that each of `count` requests took, one after another. */
async function timesOf(url: string, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < count; n += 1) {
    const started = performance.now();
    const response = await fetch(url, { headers: { authorization: `Bearer ${API_KEY}` } });
    const { error_msg } = (await response.json()) as { readonly error_msg?: string };
    if (!response.ok) throw new Error(`${url} answered ${response.status}: ${error_msg}`);
    times.push(performance.now() - started);
  }
  return times;
}
