// How messages of the in-process bus expire and batch over time.
import { expect, it } from "vitest";
import { DEDUPLICATION_WINDOW_MS, TICK_MAX_AGE_MS } from "../../src/bus/bus.ts";
import type { MessageKind } from "../../src/bus/delivery.ts";
import { createInProcessBus } from "../../src/bus/in-process.ts";
import type { Tick } from "../../src/model/tick.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { undisturbed } from "../support/undisturbed.ts";
import { aRunReport, aTick, disposable, quiet } from "./buses.ts";

function startBus() {
  const clock = createManualClock(0);
  const expired: MessageKind[] = [];
  const onDropped = (kind: MessageKind): void => void expired.push(kind);
  const bus = disposable(createInProcessBus({ clock, log: quiet, onDropped }));
  const taken: string[] = [];
  const consume = () =>
    bus.consumeTicks("local", async (ticks) => {
      taken.push(...ticks.map((tick) => tick.result_id));
    });
  return { clock, bus, taken, expired, consume };
}

it("ticks not consumed within five minutes are dropped and counted", async () => {
  const { clock, bus, taken, expired, consume } = startBus();
  await using _ = bus;
  const [old, young] = [aTick(), aTick()];
  await bus.publishTicks([old]);
  await clock.advance(1000);
  await bus.publishTicks([young]);
  await clock.advance(TICK_MAX_AGE_MS - 500);
  await consume();
  await expect.poll(() => taken).toEqual([young.result_id]);
  expect(expired).toEqual(["ticks"]);
});

it("ticks are kept for at most five minutes without a consumer", async () => {
  const { clock, bus, expired } = startBus();
  await using _ = bus;
  for (let hour = 0; hour < 3; hour += 1) {
    await bus.publishTicks([aTick()]);
    await clock.advance(TICK_MAX_AGE_MS + 1);
  }
  expect(expired).toEqual(["ticks", "ticks"]);
});

it("the same ticks are stored again after the deduplication window", async () => {
  const { clock, bus, taken, consume } = startBus();
  await using _ = bus;
  const tick = aTick();
  await consume();
  await bus.publishTicks([tick]);
  await clock.advance(DEDUPLICATION_WINDOW_MS);
  await bus.publishTicks([tick]);
  await clock.advance(1);
  await bus.publishTicks([tick]);
  await expect.poll(() => taken).toEqual([tick.result_id, tick.result_id]);
});

it("reports are safe once all are consumed, including redelivered ones", async () => {
  const { bus } = startBus();
  await using _ = bus;
  await bus.reportsSafe();
  const reports = ["local", "local", "local"].map((place) => aRunReport(place));
  for (const report of reports) await bus.publishReports([report]);
  const taken: string[] = [];
  let rejections = 1;
  await bus.consumeReports(async (batch) => {
    rejections -= 1;
    if (rejections >= 0) throw new Error("not now");
    taken.push(...batch.map(({ run_id }) => run_id));
  });
  await bus.reportsSafe();
  expect(taken.sort()).toEqual(reports.map(({ run_id }) => run_id).sort());
});

it("the backlog says how long the oldest report waits, however many there are", async () => {
  const { clock, bus } = startBus();
  await using _ = bus;
  const report = aRunReport("local");
  for (let second = 0; second < 2; second += 1) {
    for (let n = 0; n < 70_000; n += 1)
      await bus.publishReports([{ ...report, run_id: `${second} ${n}` }]);
    await clock.advance(1000);
  }
  const [, results] = await bus.backlog(clock.now());
  const at = [{ location_id: "local", messages: 140_000, oldestAgeMs: 2000 }];
  expect(results).toEqual({ stream: "results", at });
});

it("reports arrive promptly when few, and in large batches when many", async () => {
  // A stall of a second would end a batch early.
  const { few, all } = await undisturbed(async () => {
    const { bus } = startBus();
    await using _ = bus;
    const sizes: number[] = [];
    await bus.consumeReports(async (batch) => void sizes.push(batch.length));
    const publish = (reports: number): Promise<void> =>
      bus.publishReports(Array.from({ length: reports }, () => aRunReport("local")));
    await publish(1);
    await bus.reportsSafe();
    const first = [...sizes];
    // After fifty reports, the next ones wait for the longest time, or until a batch is full.
    await publish(50);
    await bus.reportsSafe();
    for (const reports of [1, 400, 400, 199]) {
      await publish(reports);
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    await bus.reportsSafe();
    return { few: first, all: sizes };
  });
  expect(few).toEqual([1]);
  expect(all).toEqual([1, 50, 1000]);
});

it("a backlog of reports arrives in batches of up to 5000", async () => {
  const { bus } = startBus();
  await using _ = bus;
  for (let message = 0; message < 72; message += 1)
    await bus.publishReports(Array.from({ length: 100 }, () => aRunReport("local")));
  const sizes: number[] = [];
  await bus.consumeReports(async (batch) => void sizes.push(batch.length));
  await bus.reportsSafe();
  expect(sizes).toEqual([5000, 2200]);
});

it("a message goes to the consumer that handles the fewest", async () => {
  const { bus } = startBus();
  await using stack = new AsyncDisposableStack();
  stack.use(bus);
  const held = Promise.withResolvers<void>();
  stack.defer(() => held.resolve());
  const [slow, quick]: [string[], string[]] = [[], []];
  const ids = (ticks: readonly Tick[]) => ticks.map(({ result_id }) => result_id);
  await bus.consumeTicks("local", (ticks) => {
    slow.push(...ids(ticks));
    return held.promise;
  });
  await bus.consumeTicks("local", async (ticks) => void quick.push(...ids(ticks)));
  const ticks = Array.from({ length: 5 }, aTick);
  for (const [n, tick] of ticks.entries()) {
    await bus.publishTicks([tick]);
    await expect.poll(() => [...slow, ...quick]).toHaveLength(n + 1);
  }
  expect([slow, quick]).toEqual([ids(ticks.slice(0, 1)), ids(ticks.slice(1))]);
});
