// The in-process bus for an agent in another thread: both ends of the port. Ticks and reports
// travel as JSON text, at half the cost of cloning objects.
import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import type { MessagePort } from "node:worker_threads";
import { chunksOf } from "../model/chunks.ts";
import { unavailable } from "../model/errors.ts";
import type { CallCredentials, CredentialsRequest } from "../model/call-credentials.ts";
import type { Heartbeat, HeartbeatAnswer } from "../model/heartbeat.ts";
import type { RunReport } from "../model/result.ts";
import type { Tick } from "../model/tick.ts";
import { allDone } from "../runtime/all-done.ts";
import { connectThreads } from "../runtime/thread-calls.ts";
import type { AgentBus, Bus, Consumer, TickHandler } from "./bus.ts";

/** What the agent may call. */
interface HubEnd {
  consume(order: { readonly consumer: number; readonly locationId: string }): Promise<void>;
  drain(consumer: number): Promise<void>;
  /** `piece`: from `take`. */
  started(piece: number): Promise<void>;
  publish(reports: string): Promise<void>;
  heartbeat(heartbeat: Heartbeat): Promise<HeartbeatAnswer | null>;
  credentials(request: CredentialsRequest): Promise<CallCredentials | null>;
}

/** What the hub may call. */
interface AgentEnd {
  /** Resolves when the reports of the ticks are published. */
  take(order: {
    readonly consumer: number;
    readonly piece: number;
    readonly ticks: string;
  }): Promise<void>;
}

/** Serves the agent at the other end. When the port closes, its ticks go back to the bus. */
export function serveThreadBus(bus: Bus, port: MessagePort): void {
  const consumers = new Map<number, Consumer>();
  /** What to call when the runs of a piece have started. */
  const starting = new Map<number, () => void>();
  let pieces = 0;

  const hand = async (
    consumer: number,
    ticks: readonly Tick[],
    onStarted: () => void,
  ): Promise<void> => {
    const all = chunksOf(ticks, PIECE);
    let left = all.length;
    const pieceStarted = (): void => {
      left -= 1;
      if (left === 0) onStarted();
    };
    const handPiece = async (some: readonly Tick[]): Promise<void> => {
      const piece = (pieces += 1);
      starting.set(piece, pieceStarted);
      try {
        await agent.take({ consumer, piece, ticks: JSON.stringify(some) });
      } catch (cause) {
        if (all.length === 1) throw cause;
        // At once, and as a message of its own: the runs of another piece may take minutes, and
        // would run twice if all were redelivered together.
        await bus.publishTicks(some);
      } finally {
        if (starting.delete(piece)) pieceStarted();
      }
    };
    await allDone(all.map(handPiece));
  };
  const own: HubEnd = {
    async consume({ consumer, locationId }) {
      const consuming = await bus.consumeTicks(locationId, (ticks, started) =>
        hand(consumer, ticks, started),
      );
      consumers.set(consumer, consuming);
    },
    async started(piece) {
      const started = starting.get(piece);
      if (starting.delete(piece)) started?.();
    },
    async drain(consumer) {
      await consumers.get(consumer)?.drain();
    },
    publish: (reports) => bus.publishReports(JSON.parse(reports) as RunReport[]),
    heartbeat: (heartbeat) => bus.sendHeartbeat(heartbeat),
    credentials: (request) => bus.requestCredentials(request),
  };
  const { theirs: agent, lose } = connectThreads<AgentEnd>(port, own);
  port.on("close", () => {
    lose(new Error("the agent's thread has ended"));
    for (const consumer of consumers.values()) void consumer.drain();
  });
}

/** Creates the agent's end. It handles a message in pieces: calls proceed in between. */
export function createThreadBus(port: MessagePort): AgentBus {
  const handlers: TickHandler[] = [];
  const consumers: Consumer[] = [];
  let closing: Promise<void> | undefined;
  let line = Promise.resolve();
  const ownTurn = (): Promise<void> => (line = line.then(() => turnOfTheLoop()));

  const own: AgentEnd = {
    async take({ consumer, piece, ticks }) {
      await ownTurn();
      const started = (): void => void hub.started(piece).catch(() => undefined);
      await handlers[consumer]?.(JSON.parse(ticks) as Tick[], started);
    },
  };
  const { theirs: hub, lose } = connectThreads<HubEnd>(port, own);
  async function close(): Promise<void> {
    await Promise.all(consumers.map((consumer) => consumer.drain()));
    lose(new Error("the bus is closed"));
    port.close();
  }
  const publish = async (reports: readonly RunReport[]): Promise<void> => {
    await ownTurn();
    await hub.publish(JSON.stringify(reports));
  };

  return {
    async consumeTicks(locationId, handler) {
      const consumer = handlers.push(handler) - 1;
      await hub.consume({ consumer, locationId });
      const consuming: Consumer = { drain: () => hub.drain(consumer) };
      consumers.push(consuming);
      return consuming;
    },
    async publishReports(reports) {
      await Promise.all(chunksOf(reports, PIECE).map(publish)).catch((cause: unknown) => {
        throw unavailable("the hub did not take reports", { part: "the bus", cause });
      });
    },
    sendHeartbeat: (heartbeat) => hub.heartbeat(heartbeat),
    requestCredentials: (request) => hub.credentials(request),
    status: () => ({ connected: !closing, detail: "in this process" }),
    connection: () => undefined,
    seenAt: () => "",
    close: () => (closing ??= close()),
  };
}

/** So many items are read or written in a fraction of a millisecond. */
const PIECE = 10;
