// Removal of expired results and details on SQLite, while the scheduler beats in the same thread:
// rows per second, and the lateness of beats.
import { execFileSync } from "node:child_process";
import { DatabaseSync } from "node:sqlite";
import { INSIGHTS_LEASE } from "../src/model/insight.ts";
import { MINUTE_MS } from "../src/model/slots.ts";
import { encodeTime } from "../src/runtime/ids.ts";
import { runBenchmark } from "./support/benchmark.ts";
import { createSqlite } from "./support/database.ts";
import type { BenchDatabase } from "./support/database.ts";
import { deploy } from "./support/deployments.ts";
import { startRemover } from "./support/removing.ts";
import { quantile } from "./support/statistics.ts";

const ROWS = 10_000_000;
const SMOKE_ROWS = 2000;
const CALLS = 1000;
const DEPLOYMENTS = 1000;
const IDLE_MS = 20_000;
const DAY_MS = 86_400_000;

await runBenchmark("retention", async ({ options, say, add }) => {
  for (const rows of options.results ?? [options.smoke ? SMOKE_ROWS : ROWS]) {
    const database = createSqlite();
    const firstDue = Math.ceil(Date.now() / MINUTE_MS) * MINUTE_MS;
    const count = options.deployments ?? (options.smoke ? 20 : DEPLOYMENTS);
    const [seconds, frequency] = [options.smoke ? 2 : 60, 1] as const;
    await deploy(database, [{ url: "https://host.test/", count, frequency, firstDue, seconds }]);
    await afterInsights(database);
    say(`storing ${rows} rows: half of them results, half details`);
    fill(database.file ?? "", rows / 2);
    execFileSync("sync"); // the removal must not wait for earlier writes
    await using remover = startRemover(database.location);
    say("the beat alone");
    const alone = await remover.ask(options.smoke ? 1000 : IDLE_MS);
    say("removing");
    const { removed, ms, late } = await remover.ask(0);
    if (removed < rows) throw new Error(`${removed} of ${rows} rows were removed`);
    const isMeasured = late.length > 0;
    add(
      {
        what: `${rows.toLocaleString("en-US")} rows: removed`,
        unit: "rows a second",
        rounds: [(1000 * removed) / ms],
      },
      { what: "  meanwhile", unit: "beats", rounds: [late.length] },
      {
        what: "  beat late, 99th percentile",
        unit: "ms",
        rounds: [isMeasured ? quantile(late, 0.99) : 0],
        beside: { what: "alone", rounds: [quantile(alone.late, 0.99)] },
      },
      {
        what: "  beat late, most",
        unit: "ms",
        rounds: [isMeasured ? Math.max(...late) : 0],
        beside: { what: "alone", rounds: [Math.max(...alone.late)] },
        goal: { atMost: 50 },
      },
    );
  }
});

/** Marks every insight as computed: no results are kept for one. */
async function afterInsights(database: BenchDatabase): Promise<void> {
  const store = await database.openStore();
  const lease = await store.leases.acquire(INSIGHTS_LEASE, "bench", Date.now(), 1);
  if (lease) await store.leases.advance(lease, Date.now());
  await store.close();
}

/**
 * Stores `count` results of a thousand calls, one a minute each, that ended long ago, with their
 * details.
 */
function fill(file: string, count: number): void {
  const database = new DatabaseSync(file);
  database.exec("pragma journal_mode = wal; pragma synchronous = off; pragma cache_size = -262144");
  const calls = `with recursive given (n) as (select 1 union all select n + 1 from given where n < ${CALLS})`;
  const results = database.prepare(`
    insert into results (id, owner, call, deployment, location, agent, trigger, trigger_time,
      due_time, time, started, end_time, result, domain, http_code, request_size, response_size,
      redirects, is_late, tcp, upload, processing, download, total, uncertainty)
    ${calls} select ?1 || printf('%016d', n), 1, n, n, 1, 1, 1, ?2, ?2, ?2 + 250, 1, ?2 + 370, 1, 1,
      200, 100, 512, 0, 0, 1500, 250, 20000, 2000, 24000 + n, 500 from given`);
  const details = database.prepare(`
    insert into result_details (result_id, details, content)
    ${calls} select ?1 || printf('%016d', n), randomblob(300), randomblob(150) from given`);
  const minutes = Math.ceil(count / CALLS);
  const end = Math.floor((Date.now() - 40 * DAY_MS) / MINUTE_MS) * MINUTE_MS;
  database.exec("begin");
  for (let minute = 0; minute < minutes; minute += 1) {
    const time = end - (minutes - minute) * MINUTE_MS;
    results.run(encodeTime(time), time);
    details.run(encodeTime(time));
    if (minute % 100 === 99) database.exec("commit; begin");
  }
  database.exec("commit");
  database.close();
}
