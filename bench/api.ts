// The API's requests per second on one core, compared with a bare Fastify over node:sqlite that
// does the same without keys, rights and audit.
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runBenchmark } from "./support/benchmark.ts";
import { forkChild, makeFolder, stopChild } from "./support/children.ts";
import { createSqlite } from "./support/database.ts";
import { deploy } from "./support/deployments.ts";
import type { Figure, Goal } from "./support/figures.ts";
import { storeResults } from "./support/results.ts";
import { startSonde } from "./support/sonde.ts";
import { hasWrk, load, NO_WRK } from "./support/wrk.ts";
import type { Loaded } from "./support/wrk.ts";

const CALLS = 100_000;
const SMOKE_CALLS = 20;
const SMOKE_PAUSE_MS = 100;
/** Results of one call. */
const RESULTS = 10_000;
const CONNECTIONS = 10;
const SECONDS = 3;

const BODY = JSON.stringify({
  meta: { name: "new" },
  request: { method: "get", url: "https://new.test/" },
});

interface Operation {
  readonly what: string;
  /** Path below the base URL of the respective API. */
  readonly sonde: string;
  readonly yardstick: string;
  readonly body?: string;
  readonly goal?: Goal;
}

await runBenchmark("api", async ({ options, say, skip, add }) => {
  if (!hasWrk()) return skip(NO_WRK);
  const calls = options.smoke ? SMOKE_CALLS : CALLS;
  const results = options.results?.[0] ?? (options.smoke ? 20 : RESULTS);
  say(`storing ${calls} calls and ${results} results`);
  const database = createSqlite();
  const later = (Math.floor(Date.now() / 86_400_000) + 2) * 86_400_000;
  const group = { url: "https://host.test/path", count: calls, firstDue: later, seconds: 1 };
  const [[id = ""] = []] = await deploy(database, [{ ...group, frequency: 1440 }]);
  const store = await database.openStore();
  const last = await storeResults(store, [id], results);
  await store.close();

  await using sonde = await startSonde({
    core: "measured",
    env: {
      ...database.env,
      SONDE_MAX_REQUESTS_PER_MINUTE: "999999999",
      SONDE_MAX_OBJECTS: "999999999",
    },
  });
  const yardstick = await startYardstick(calls);
  const operations = operationsOf(id, new Date(last).toISOString());
  for (const operation of options.smoke ? operations.slice(1, 2) : operations) {
    say(operation.what);
    const { body } = operation;
    const [seconds, pause] = options.smoke ? [1, SMOKE_PAUSE_MS] : [SECONDS, 0];
    const send = (pid: number, url: string, connections: number): Promise<Loaded> =>
      load(pid, { url, connections, seconds, pause, ...(body !== undefined && { body }) });
    const rounds: (readonly [sonde: Loaded, yardstick: Loaded, alone: Loaded])[] = [];
    for (let round = options.smoke ? 0 : -1; round < options.rounds; round += 1) {
      const url = `${sonde.apiUrl}/api/2${operation.sonde}`;
      const measured = [
        await send(sonde.pid, url, CONNECTIONS),
        await send(yardstick.pid, yardstick.url + operation.yardstick, CONNECTIONS),
        await send(sonde.pid, url, 1),
      ] as const;
      // The first round warms up.
      if (round >= 0) rounds.push(measured);
    }
    add(...figuresOf(operation, rounds));
  }
  await stopChild(yardstick.child);
});

function operationsOf(id: string, time: string): Operation[] {
  const half = { ratioAtLeast: 0.45 } as const;
  return [
    { what: "get by id", sonde: `/calls/${id}/`, yardstick: "/calls/call-1/", goal: half },
    { what: "create", sonde: "/calls/", yardstick: "/calls/", body: BODY, goal: half },
    { what: "list of 100", sonde: "/calls/?limit=100", yardstick: "/calls/" },
    { what: "list of 100 results", sonde: `/calls/${id}/results/?limit=100`, yardstick: "/calls/" },
    {
      what: "statistics of a day",
      sonde: `/calls/${id}/stats/?kind=DAY&time=${time}`,
      yardstick: "/calls/call-1/stats/",
    },
  ];
}

function figuresOf(
  { what, goal }: Operation,
  rounds: readonly (readonly [Loaded, Loaded, Loaded])[],
): Figure[] {
  const bare = (field: keyof Loaded): Figure["beside"] => ({
    what: "bare Fastify",
    rounds: rounds.map(([, yardstick]) => yardstick[field]),
  });
  const [rate, cpu] = [bare("rate"), bare("cpu")];
  return [
    {
      what,
      unit: "a second",
      rounds: rounds.map(([sonde]) => sonde.rate),
      ...(rate && { beside: rate }),
      ...(goal && { goal }),
    },
    {
      what: "  CPU a request",
      unit: "ms",
      rounds: rounds.map(([sonde]) => sonde.cpu),
      ...(cpu && { beside: cpu }),
    },
    {
      what: "  one connection, p99",
      unit: "ms",
      rounds: rounds.map(([, , alone]) => alone.p99),
      ...(what.startsWith("statistics") && { goal: { atMost: 5 } }),
    },
  ];
}

async function startYardstick(calls: number) {
  const program = fileURLToPath(new URL("./support/yardstick-api.ts", import.meta.url));
  const file = join(makeFolder(), "yardstick.db");
  const child = forkChild(program, [file, String(calls)], "measured");
  const [url] = (await once(child, "message")) as [string];
  return { child, url, pid: child.pid ?? 0 };
}
