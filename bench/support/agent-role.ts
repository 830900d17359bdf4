// The whole agent as its users start it, from ticks to reports over a real nats-server.
import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import type { Bus } from "../../src/bus/bus.ts";
import { REPORT_STREAM } from "../../src/bus/nats/topology.ts";
import { newId } from "../../src/runtime/ids.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { CONCURRENCY, measureCalls } from "./caller.ts";
import type { Caller } from "./caller.ts";
import { startNats } from "./nats.ts";
import { connectBus } from "./published.ts";
import { startSonde } from "./sonde.ts";
import { tickFor } from "./tick.ts";

const TICKS_PER_MESSAGE = 50;

/**
 * Its rate counts until the agent has published the last report; the consumer, gathering a batch,
 * may read it a second later. Undefined if nats-server is not installed.
 */
export async function startRole(url: string, authority: string): Promise<Caller | undefined> {
  const nats = await startNats();
  if (!nats) return undefined;
  await using stack = new AsyncDisposableStack();
  stack.use(nats);
  const bus = await connectBus(nats.url);
  stack.defer(() => bus.close());
  const runs = createRuns(bus, url);
  await runs.start();
  const connection = await connect({ servers: nats.url });
  stack.defer(() => connection.close());
  const manager = await jetstreamManager(connection);
  const agent = await startSonde({
    core: "measured",
    roles: "agent",
    authority,
    env: { SONDE_NATS_URL: nats.url, SONDE_AGENT_CONCURRENCY: String(CONCURRENCY) },
  });
  stack.use(agent);
  const owned = stack.move();
  return {
    async measure(calls) {
      const started = systemClock.now();
      const { cpu } = await measureCalls(agent.pid, calls, () => runs.make(calls));
      const { state } = await manager.streams.info(REPORT_STREAM);
      const seconds = (Date.parse(state.last_ts) - started) / 1000;
      return { cpu, rate: calls / seconds, times: runs.times() };
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function createRuns(bus: Bus, url: string) {
  let left = 0;
  let times: number[] = [];
  let onDone = Promise.withResolvers<void>();
  return {
    async start(): Promise<void> {
      await bus.consumeReports(async (reports) => {
        for (const { results } of reports) {
          if (results[0]?.meta.result !== "COMPLETE")
            onDone.reject(new Error(results[0]?.meta.message ?? "failed"));
          times.push(results[0]?.timing.total ?? NaN);
        }
        left -= reports.length;
        if (left === 0) onDone.resolve();
      });
      // The agent asks for the time before it starts.
      await bus.consumeHeartbeats(async (_, answer) => answer({ now: systemClock.now() }));
    },
    /** Resolves when every report has arrived. */
    async make(calls: number): Promise<void> {
      onDone = Promise.withResolvers();
      left = calls;
      times = [];
      const ticks = Array.from({ length: calls }, () => tickFor(url, newId(systemClock.now())));
      while (ticks.length > 0) await bus.publishTicks(ticks.splice(0, TICKS_PER_MESSAGE));
      await onDone.promise;
    },
    /** What the calls of the last `make` reported to have taken, in milliseconds. */
    times: () => times,
  };
}
