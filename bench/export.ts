// Exports of a call's results, on SQLite and PostgreSQL: rows per second, and the memory, CPU and
// longest event loop pause that they cost the process.
import { request } from "undici";
import { runBenchmark } from "./support/benchmark.ts";
import type { Benchmark } from "./support/benchmark.ts";
import { sleep } from "./support/children.ts";
import { API_KEY, createPostgres, createSqlite, NO_POSTGRES } from "./support/database.ts";
import type { BenchDatabase } from "./support/database.ts";
import { deploy } from "./support/deployments.ts";
import { watchPauses } from "./support/pauses.ts";
import { storeManyResults } from "./support/result-copies.ts";
import { startSonde } from "./support/sonde.ts";
import type { Sonde } from "./support/sonde.ts";
import { cpuMs, memoryMb } from "./support/usage.ts";

const RESULTS = 1_000_000;
const SMOKE_RESULTS = 1000;
const HOUR_MS = 3_600_000;
/** By then, the process has returned the memory that its start needed. */
const IDLE_AFTER_MS = 8000;
const POLL_MS = 100;
const LINE_FEED = 0x0a;

await runBenchmark("export", async (benchmark) => {
  const { options, skip } = benchmark;
  if (options.modes.includes("embedded")) {
    await using sqlite = createSqlite();
    await measure(benchmark, "SQLite", sqlite);
  }
  if (options.smoke || !options.modes.includes("split")) return;
  await using postgres = await createPostgres();
  if (postgres) await measure(benchmark, "PostgreSQL", postgres);
  else skip(NO_POSTGRES);
});

async function measure(
  { options, say, add }: Benchmark,
  name: string,
  database: BenchDatabase,
): Promise<void> {
  const count = options.results?.[0] ?? (options.smoke ? SMOKE_RESULTS : RESULTS);
  say(`${name}: storing ${count} results`);
  // Two and a half days ahead: no run of the deployment is due about now.
  const later = (Math.floor(Date.now() / HOUR_MS) + 60) * HOUR_MS;
  const group = { url: "https://host.test/", count: 1, firstDue: later, seconds: 1 };
  const [[id = ""] = []] = await deploy(database, [{ ...group, frequency: 1440 }]);
  await storeManyResults(database, id, count);
  if (database.file === undefined) await database.query("analyze");
  for (const format of options.smoke ? ["csv"] : ["csv", "ndjson"]) {
    const rounds: Exported[] = [];
    for (let round = 0; round < options.rounds; round += 1) {
      say(`${name}: ${format}`);
      // A new process each time: memory of an earlier export must not be measured.
      await using sonde = await startSonde({ core: "measured", env: database.env });
      await sleep(options.smoke ? 0 : IDLE_AFTER_MS);
      const exported = await exportAll(sonde, `/calls/${id}/results/export?format=${format}`);
      const rows = exported.lines - (format === "csv" ? 1 : 0);
      if (rows !== count) throw new Error(`${rows} of ${count} results were exported`);
      rounds.push(exported);
    }
    const each = (value: (one: Exported) => number): number[] => rounds.map(value);
    add(
      {
        what: `${name}, ${count.toLocaleString("en-US")} results as ${format}`,
        unit: "a second",
        rounds: each(({ seconds }) => count / seconds),
      },
      { what: "  CPU a result", unit: "ms", rounds: each(({ cpu }) => cpu / count) },
      {
        what: "  memory beyond idle, peak",
        unit: "MB",
        rounds: each(({ memory }) => memory),
        goal: { atMost: 150 },
      },
      {
        what: "  longest pause",
        unit: "ms",
        rounds: each(({ pauseMs }) => pauseMs),
        goal: { atMost: 50 },
      },
    );
  }
}

interface Exported {
  readonly lines: number;
  readonly seconds: number;
  readonly cpu: number;
  readonly memory: number;
  readonly pauseMs: number;
}

async function exportAll(sonde: Sonde, path: string): Promise<Exported> {
  const idle = memoryMb(sonde.pid);
  let most = idle;
  const poll = setInterval(() => (most = Math.max(most, memoryMb(sonde.pid))), POLL_MS);
  const watch = watchPauses(sonde);
  const [cpuBefore, started] = [cpuMs(sonde.pid), performance.now()];
  const lines = await countLines(`${sonde.apiUrl}/api/2${path}`);
  const seconds = (performance.now() - started) / 1000;
  const cpu = cpuMs(sonde.pid) - cpuBefore;
  clearInterval(poll);
  const pauseMs = await watch.longest();
  return { lines, seconds, cpu, memory: most - idle, pauseMs };
}

/** Rejects if the answer is not an export or is aborted. */
async function countLines(url: string): Promise<number> {
  const { statusCode, body } = await request(url, {
    headers: { authorization: `Bearer ${API_KEY}` },
    bodyTimeout: 0,
  });
  if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}: ${await body.text()}`);
  let lines = 0;
  for await (const chunk of body as AsyncIterable<Buffer>)
    for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, at + 1))
      lines += 1;
  return lines;
}
