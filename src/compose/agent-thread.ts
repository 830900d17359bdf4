// An agent in its own thread, seen from the main thread.
import { extname } from "node:path";
import { MessageChannel, Worker } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import type { Bus } from "../bus/bus.ts";
import { serveThreadBus } from "../bus/thread-bus.ts";
import { isAgent, isHub } from "../config/config.ts";
import type { Config } from "../config/config.ts";
import type { WatchedNetwork } from "../net/own-network.ts";
import type { Service } from "../runtime/lifecycle.ts";
import { logSettingsOf } from "../runtime/logger.ts";
import type { Logger } from "../runtime/logger.ts";
import { connectThreads } from "../runtime/thread-calls.ts";
import { agentBusConfigOf } from "./bus.ts";
import type { AgentThreadCalls, AgentThreadData, AgentThreadOrder } from "./agent-worker.ts";
import type { LocationKeys } from "./location-keys.ts";

export type AgentThread = ReturnType<typeof startAgentThread>;

/** Beside this module in `src/compose/`, and among the files of `dist/`. */
const ENTRY = new URL(`./agent-worker-entry${extname(import.meta.url)}`, import.meta.url);

const RESOURCE_LIMITS = { maxYoungGenerationSizeMb: 24 };

/**
 * Returns how many agents of this process get a thread: none if a single agent is its only role.
 */
export function agentThreadsOf(config: Config): number {
  const { agentThreads } = config;
  if (!isAgent(config)) return 0;
  return !isHub(config) && agentThreads === 1 ? 0 : agentThreads;
}

/** Starts the thread; it loads its modules while it waits for its order. */
export function startAgentThread(config: Config, log: Logger) {
  const channel = config.natsUrls ? undefined : new MessageChannel();
  const { worker, failed, end } = startWorker(config, channel?.port2);
  const { theirs: agent, lose } = connectThreads<AgentThreadCalls>(worker, {});
  let isLost = false;
  failed.catch((err: Error) => {
    isLost = true;
    log.fatal({ err }, "agent lost");
    lose(err);
  });

  return {
    /** Rejects when the thread ends before `end`. */
    failed,
    service: (order: AgentThreadOrder, bus: Bus, own: WatchedNetwork): Service => ({
      name: `agent of ${order.locationId}`,
      async start() {
        if (channel) serveThreadBus(bus, channel.port1);
        own.onGrowth(({ ports, servers }) => {
          agent.learn({ ports, servers }).catch(() => undefined); // `failed` has the reason
        });
        await agent.start(order);
      },
      async stop() {
        if (!isLost) await agent.stop();
      },
    }),
    /** Hands over the location's changed keys, for the agent's own connection to NATS. */
    useKeys(locationKeys: LocationKeys): void {
      agent.useKeys(locationKeys).catch(() => undefined); // `failed` has the reason
    },
    /**
     * Rejects with the reason if the agent cannot work. Resolves with why it is degraded, if so.
     */
    async check(): Promise<string | undefined> {
      const { connected, detail, degraded, refusal } = await agent.status();
      if (!connected) throw new Error(detail);
      if (refusal !== undefined) throw new Error(refusal);
      return degraded;
    },
    metrics: () => agent.metrics(),
    end,
  };
}

function startWorker(config: Config, port?: MessagePort) {
  const data: AgentThreadData = {
    config: agentBusConfigOf(config),
    log: logSettingsOf(config.logLevel, config.logFormat),
    port,
  };
  const worker = new Worker(ENTRY, {
    workerData: data,
    transferList: port ? [port] : [],
    resourceLimits: RESOURCE_LIMITS,
  });
  const { promise: failed, reject } = Promise.withResolvers<never>();
  let isEnding = false;
  const fail = (reason: string, cause?: unknown): void => {
    if (!isEnding) reject(new Error(`an agent's thread has ended: ${reason}`, { cause }));
  };
  worker.once("error", (cause: Error) => fail(cause.message, cause));
  worker.once("exit", (code) => fail(`exit code ${code}`));
  const end = async (): Promise<void> => {
    isEnding = true;
    await worker.terminate();
  };
  return { worker, failed, end };
}
