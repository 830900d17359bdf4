// Starts Sonde's processes on the measured core or on the other one: one with every role, or one
// for each.
import { createPostgres, createSqlite, NO_POSTGRES } from "./database.ts";
import type { BenchDatabase } from "./database.ts";
import type { Benchmark } from "./benchmark.ts";
import type { Core } from "./children.ts";
import { NO_NATS, startNats } from "./nats.ts";
import type { Mode } from "./options.ts";
import { startSonde } from "./sonde.ts";
import type { Sonde } from "./sonde.ts";

/** The servers that the processes need, without the processes. */
export interface Ground extends AsyncDisposable {
  readonly database: BenchDatabase;
  readonly env: Readonly<Record<string, string>>;
  /** Process ids of the servers, by name. */
  readonly servers: ReadonlyMap<string, number>;
}

/** Undefined, after a notice, if a server is not installed. */
export async function prepareGround(
  mode: Mode,
  skip: Benchmark["skip"],
): Promise<Ground | undefined> {
  if (mode === "embedded") {
    const database = createSqlite();
    return {
      database,
      env: database.env,
      servers: new Map(),
      [Symbol.asyncDispose]: async () => undefined,
    };
  }
  await using stack = new AsyncDisposableStack();
  const database = await createPostgres();
  if (!database) {
    skip(NO_POSTGRES);
    return undefined;
  }
  stack.use(database);
  const nats = await startNats();
  if (!nats) {
    skip(NO_NATS);
    return undefined;
  }
  stack.use(nats);
  const owned = stack.move();
  return {
    database,
    env: { ...database.env, SONDE_NATS_URL: nats.url },
    servers: new Map([
      ["PostgreSQL", database.pid ?? 0],
      ["nats-server", nats.pid],
    ]),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

export interface Hub extends AsyncDisposable {
  /** Sonde's processes by role, or the only one as "embedded". */
  readonly processes: ReadonlyMap<string, Sonde>;
  readonly apiUrl: string;
  /** Results that the aggregator has recorded. */
  recorded(): Promise<number>;
}

/** Embedded, everything runs on the measured core; split, only the agent does. */
export async function startHub(mode: Mode, ground: Ground, authority?: string): Promise<Hub> {
  await using stack = new AsyncDisposableStack();
  const processes = new Map<string, Sonde>();
  const start = async (name: string, core: Core, roles?: string): Promise<Sonde> => {
    const sonde = await startSonde({
      core,
      env: ground.env,
      ...(authority !== undefined && { authority }),
      ...(roles !== undefined && { roles }),
    });
    processes.set(name, stack.use(sonde));
    return sonde;
  };
  let [api, aggregator] = [undefined as Sonde | undefined, undefined as Sonde | undefined];
  if (mode === "embedded") api = aggregator = await start("embedded", "measured");
  else {
    api = await start("api", "other", "api");
    // Before the agent, which is not ready until the aggregator answers it.
    aggregator = await start("aggregator", "other", "aggregator");
    await start("agent", "measured", "agent");
    // Last: without an agent at the location, runs would be MISSED.
    await start("scheduler", "other", "scheduler");
  }
  const owned = stack.move();
  return {
    processes,
    apiUrl: api?.apiUrl ?? "",
    recorded: async () =>
      (await aggregator?.metric("sonde_aggregator_results_total", 'outcome="recorded"')) ?? 0,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
