// How the bus of an agent in another thread hands over ticks in pieces.
import { once } from "node:events";
import { MessageChannel } from "node:worker_threads";
import { expect, it } from "vitest";
import { createInProcessBus } from "../../src/bus/in-process.ts";
import { createThreadBus, serveThreadBus } from "../../src/bus/thread-bus.ts";
import type { Tick } from "../../src/model/tick.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import { aTick, disposable, quiet } from "./buses.ts";

/** A hub's bus, and a function that connects the bus of another thread. */
function startHub(log = quiet) {
  const stack = new AsyncDisposableStack();
  const hub = stack.use(disposable(createInProcessBus({ clock: systemClock, log })));
  const connect = () => {
    const { port1, port2 } = new MessageChannel();
    serveThreadBus(hub, port1);
    const bus = createThreadBus(port2);
    stack.defer(() => bus.close());
    return bus;
  };
  return { hub, connect, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const idsOf = (ticks: readonly Tick[]): string[] => ticks.map(({ result_id }) => result_id);

it("a piece that is given back goes to another agent while the others still run", async () => {
  await using system = startHub();
  const ticks = Array.from({ length: 20 }, aTick);
  const [running, draining] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  using _ = { [Symbol.dispose]: () => running.resolve() };
  const [first, other]: [string[], string[]] = [[], []];
  const consumer = await system.connect().consumeTicks("local", async (piece) => {
    first.push(...idsOf(piece));
    if (piece.some(({ result_id }) => result_id === ticks[0]?.result_id)) return running.promise;
    await draining.promise;
    throw new Error("given back");
  });
  await system.hub.publishTicks(ticks);
  await expect.poll(() => first).toEqual(idsOf(ticks));
  await system.connect().consumeTicks("local", async (piece) => void other.push(...idsOf(piece)));
  const drained = consumer.drain();
  draining.resolve();
  await expect.poll(() => other).toEqual(idsOf(ticks.slice(10)));
  running.resolve();
  await drained;
  expect(first).toEqual(idsOf(ticks));
});

it("ticks go back to the bus when the thread of their agent ends", async () => {
  await using system = startHub();
  const { port1, port2 } = new MessageChannel();
  serveThreadBus(system.hub, port1);
  const [held, other]: [string[], string[]] = [[], []];
  await createThreadBus(port2).consumeTicks("local", (ticks) => {
    held.push(...idsOf(ticks));
    return new Promise(() => undefined);
  });
  const ticks = [aTick()];
  await system.hub.publishTicks(ticks);
  await expect.poll(() => held).toEqual(idsOf(ticks));
  await system.connect().consumeTicks("local", async (given) => void other.push(...idsOf(given)));
  port2.close();
  await expect.poll(() => other).toEqual(idsOf(ticks));
});

it("no tick is handed to a thread that has ended", async () => {
  const rejected: string[] = [];
  const log = createLogger("warn", { write: (line) => rejected.push(line) });
  await using system = startHub(log);
  const { port1, port2 } = new MessageChannel();
  serveThreadBus(system.hub, port1);
  await createThreadBus(port2).consumeTicks("local", async () => undefined);
  port2.close();
  await once(port1, "close");
  const taken: string[] = [];
  await system.connect().consumeTicks("local", async (given) => void taken.push(...idsOf(given)));
  const ticks = Array.from({ length: 4 }, aTick);
  for (const tick of ticks) await system.hub.publishTicks([tick]);
  await expect.poll(() => taken.toSorted()).toEqual(idsOf(ticks).sort());
  expect(rejected).toEqual([]);
});
