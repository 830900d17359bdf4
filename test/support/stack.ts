// Runs every role on the adapters named by STORES and BUSES. The test moves the clock and drives
// the beat.
import { createAgent } from "../../src/agent/agent.ts";
import { createAgentMetrics } from "../../src/agent/metrics.ts";
import { createAggregator } from "../../src/aggregator/aggregator.ts";
import { createAggregatorMetrics } from "../../src/aggregator/metrics.ts";
import { createApiMetrics } from "../../src/api/metrics.ts";
import { createApi } from "../../src/api/server.ts";
import type { Bus } from "../../src/bus/bus.ts";
import { createCredentialsService } from "../../src/dispatch/call-credentials.ts";
import { createWaitingRuns } from "../../src/dispatch/waiting-runs.ts";
import type { Clock } from "../../src/runtime/clock.ts";
import type { Service } from "../../src/runtime/lifecycle.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import { Registry } from "../../src/runtime/metrics.ts";
import { createBeat } from "../../src/scheduler/beat.ts";
import { createSchedulerMetrics } from "../../src/scheduler/metrics.ts";
import { reconcile } from "../../src/scheduler/reconcile.ts";
import type { Store } from "../../src/store/store.ts";
import { parseEgressAllow } from "../../src/net/egress.ts";
import { ADAPTERS } from "../bus/buses.ts";
import { CONFIG } from "./api.ts";
import { createClient } from "./client.ts";
import type { Client } from "./client.ts";
import { track } from "./no-leftovers.ts";
import { insertKey } from "./runs.ts";
import { createShiftedClock } from "./shifted-clock.ts";
import type { ShiftedClock } from "./shifted-clock.ts";
import { createTestDatabase, storeKinds } from "./stores.ts";

export interface StackOptions {
  /** The clock's initial time. */
  readonly now: number;
  /** Number of agents at the location; default 1. */
  readonly agents?: number;
  /** The clock of the agents' machine; by default, the same as everywhere. */
  readonly agentClock?: Clock;
  readonly egressAllow?: readonly string[];
  /** Maximum number of concurrent calls of each agent; default 500. */
  readonly concurrency?: number;
}

export interface Stack extends AsyncDisposable {
  readonly clock: ShiftedClock;
  readonly store: Store;
  readonly bus: Bus;
  /** Uses an OWNER key. */
  readonly client: Client;
  /** Uses an OWNER key of another owner. */
  clientOf(owner: string): Promise<Client>;
  /** Runs one beat of the scheduler. */
  beat(): Promise<void>;
  reconcile(): Promise<void>;
  /** Returns the number of reports that the aggregator has recorded with this outcome. */
  outcomes(outcome: "recorded" | "late" | "duplicate"): Promise<number>;
}

const LOCATION = "local";
const log = createLogger("silent");

export async function startStack({
  now,
  agents = 1,
  agentClock,
  egressAllow = [],
  concurrency = 500,
}: StackOptions): Promise<Stack> {
  const [kind, adapter] = [storeKinds[0], ADAPTERS[0]];
  if (!kind || !adapter) throw new Error("STORES or BUSES names no adapter");
  await using stack = new AsyncDisposableStack();
  stack.defer(track(`stack on ${kind} and ${adapter.name}`));
  const clock = createShiftedClock(now);
  const store = await stack.use(await createTestDatabase(kind)).open(clock);
  const buses = stack.use(await adapter.start());
  const bus = await buses.join();
  const registry = new Registry();
  const start = async (service: Service): Promise<void> => {
    await service.start();
    stack.defer(() => service.stop());
  };

  await store.locations.insert({
    id: LOCATION,
    label: "",
    region: "",
    created: now,
  });
  const metrics = createAggregatorMetrics(registry);
  await start(
    createAggregator({ bus: await buses.join(), store, clock, log, metrics, version: "0.0.0" }),
  );
  for (let n = 1; n <= agents; n += 1)
    await start(
      createAgent({
        bus: await buses.join(),
        clock: agentClock ?? clock,
        log,
        metrics: createAgentMetrics(new Registry()),
        locationId: LOCATION,
        agentId: `agent-${n}`,
        version: "0.0.0",
        egress: parseEgressAllow(egressAllow),
        concurrency,
      }),
    );
  const dispatcher = { store, bus, waiting: createWaitingRuns(64) };
  await start(createCredentialsService(dispatcher));
  const scheduling = {
    store,
    clock,
    dispatcher,
    log,
    metrics: createSchedulerMetrics(registry),
    holder: "scheduler",
  };
  const beat = createBeat(scheduling);
  const clientOf = startApi(stack, { store, dispatcher, clock });
  const client = await clientOf("ann");
  const running = stack.move();
  return {
    clock,
    store,
    bus,
    client,
    clientOf,
    async beat() {
      await beat.run();
    },
    reconcile: async () => reconcile(scheduling, await store.now()),
    async outcomes(outcome) {
      const { values } = await metrics.results.get();
      return values.find(({ labels }) => labels.outcome === outcome)?.value ?? 0;
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

function startApi(
  stack: AsyncDisposableStack,
  deps: Pick<Parameters<typeof createApi>[0], "store" | "dispatcher" | "clock">,
): Stack["clientOf"] {
  const { store, clock } = deps;
  const api = createApi({
    ...deps,
    log,
    metrics: createApiMetrics(new Registry()),
    config: CONFIG,
  });
  stack.defer(() => api.stop());
  return async (owner) => {
    const { key } = await insertKey(store, clock.now(), { owner });
    return createClient(async ({ method, path, body }) => {
      const { statusCode, payload } = await api.app.inject({
        method,
        url: path,
        headers: { authorization: `Bearer ${key}` },
        ...(body && { payload: body }),
      });
      return { status: statusCode, text: payload };
    });
  };
}
