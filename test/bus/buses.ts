// Buses to test, and messages to send on them.
import { randomUUID } from "node:crypto";
import { MessageChannel } from "node:worker_threads";
import type { Bus } from "../../src/bus/bus.ts";
import type { MessageKind } from "../../src/bus/delivery.ts";
import { createInProcessBus } from "../../src/bus/in-process.ts";
import { createNatsBus } from "../../src/bus/nats/nats-bus.ts";
import type { NatsSettings } from "../../src/bus/nats/nats-bus.ts";
import { placeOf } from "../../src/bus/nats/sealing.ts";
import type { StreamSettings } from "../../src/bus/nats/streams.ts";
import { createThreadBus, serveThreadBus } from "../../src/bus/thread-bus.ts";
import type { Heartbeat } from "../../src/model/heartbeat.ts";
import type { RunReport } from "../../src/model/result.ts";
import type { Tick } from "../../src/model/tick.ts";
import { streamsOf } from "../../src/compose/bus.ts";
import { createKeyRing } from "../../src/compose/location-keys.ts";
import { loadConfig } from "../../src/config/config.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { newId } from "../../src/runtime/ids.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import { locationKeyOf } from "../../src/runtime/derived-keys.ts";
import { startNatsServer } from "../support/nats-server.ts";
import { track } from "../support/no-leftovers.ts";
import { T0, aReport, aRun } from "../support/runs.ts";

// A message in hand is redelivered if a stall takes longer than two thirds of this.
export const ACK_WAIT_MS = 6000;
export const quiet = createLogger("silent");

export const STREAMS = streamsOf(loadConfig({}));

/** Returns a location's key under the tests' master key. */
export const keyOf = (locationId: string): Uint8Array =>
  locationKeyOf(new Uint8Array(32).fill(1), locationId);

export const { sealerOf } = createKeyRing((locationId) => [keyOf(locationId)]);

/** Returns a message as sealed by a holder of the location's key. */
export const sealed = (kind: MessageKind, locationId: string, text: string): Uint8Array =>
  sealerOf(locationId).seal(text, placeOf(kind, locationId));

export const asked = (question: object): string =>
  JSON.stringify({ nonce: "0123456789abcdef", question });

/** A bus whose participants share a process, or have a connection each. */
export interface BusFixture extends AsyncDisposable {
  join(): Promise<Bus>;
  /** Whether messages are redelivered when their consumer shows no sign of life. */
  readonly hasAckWait: boolean;
  readonly dropped: MessageKind[];
}

export interface Adapter {
  readonly name: string;
  /** Whether a delivered message may differ from the published one. */
  readonly encodes: boolean;
  readonly start: () => Promise<BusFixture>;
}

type ConnectOptions = Partial<NatsSettings> & {
  readonly locationId?: string;
  readonly streams?: StreamSettings;
};

/** Connects as an agent of a location, or else as a hub; streams are as large as by default. */
export async function connectTo(
  url: string,
  { locationId, streams = STREAMS, ...options }: ConnectOptions = {},
): Promise<Bus & AsyncDisposable> {
  const bus = await createNatsBus({
    servers: [url],
    name: "test",
    clock: systemClock,
    log: quiet,
    ackWaitMs: ACK_WAIT_MS,
    sealerOf,
    ...options,
    ...(locationId === undefined ? { streams } : { locationId }),
  });
  return disposable(bus);
}

export function disposable(bus: Bus): Bus & AsyncDisposable {
  const stopped = track("a bus");
  return {
    ...bus,
    async [Symbol.asyncDispose]() {
      await bus.close();
      stopped();
    },
  };
}

function startInProcess() {
  const dropped: MessageKind[] = [];
  const onDropped = (kind: MessageKind): void => void dropped.push(kind);
  const bus = disposable(createInProcessBus({ clock: systemClock, log: quiet, onDropped }));
  return { bus, fixture: { ...bus, dropped, hasAckWait: false } };
}

const inProcess: Adapter = {
  name: "in-process",
  encodes: false,
  async start() {
    const { bus, fixture } = startInProcess();
    return { ...fixture, join: async () => bus };
  },
};

/** Connects the agent over a message port, as from another thread. */
const bridged: Adapter = {
  name: "bridged",
  encodes: false,
  async start() {
    const { bus, fixture } = startInProcess();
    await using stack = new AsyncDisposableStack();
    stack.use(bus);
    const cleanup = stack.move();
    return {
      ...fixture,
      async join() {
        const { port1, port2 } = new MessageChannel();
        serveThreadBus(bus, port1);
        const agent = createThreadBus(port2);
        cleanup.defer(() => agent.close());
        const close = async (): Promise<void> => {
          await agent.close();
          await bus.close();
        };
        return { ...bus, ...agent, close };
      },
      [Symbol.asyncDispose]: () => cleanup.disposeAsync(),
    };
  },
};

const nats: Adapter = {
  name: "nats",
  encodes: true,
  async start() {
    await using stack = new AsyncDisposableStack();
    const server = stack.use(await startNatsServer());
    const dropped: MessageKind[] = [];
    const cleanup = stack.move();
    return {
      dropped,
      hasAckWait: true,
      join: async () =>
        cleanup.use(await connectTo(server.url, { onDropped: (kind) => dropped.push(kind) })),
      [Symbol.asyncDispose]: () => cleanup.disposeAsync(),
    };
  },
};

const wanted = (process.env["BUSES"] ?? "in-process,bridged,nats").split(",");

export const ADAPTERS = [inProcess, bridged, nats].filter(({ name }) => wanted.includes(name));

export const newLocation = (): string => `location-${randomUUID()}`;

export function aTick(change: Partial<Tick> = {}): Tick {
  const result_id = newId(T0);
  return {
    result_id,
    trigger: "SCHEDULE",
    trigger_time: T0,
    due_time: T0,
    latest_start: T0 + 30_000,
    deployment_id: "deployment",
    location_id: "local",
    context: {},
    calls: [
      {
        result_id,
        call_id: "call",
        name: "a call",
        domain: "target.test",
        tags: [],
        request: {
          method: "GET",
          url: "https://target.test/",
          parameters: [],
          headers: [],
          body: null,
        },
      },
    ],
    ...change,
  };
}

export const aRunReport = (location_id: string): RunReport => aReport(aRun({ location_id }));

export const aHeartbeat = (location_id: string): Heartbeat => ({
  agent_id: "agent",
  location_id,
  version: "1.0.0",
  in_flight: 3,
  sent: T0,
});
