// How messages reach handlers, apart from any bus.
import { expect, it } from "vitest";
import { createReportReceiver } from "../../src/bus/delivery.ts";
import type { RunReport } from "../../src/model/result.ts";
import { createLogger } from "../../src/runtime/logger.ts";

const noStart = (): void => undefined;

it("gives back the messages that wait when a stopping consumer's handler rejects", async () => {
  const reports = [{ run_id: "run" } as RunReport];
  let handled = 0;
  const receiver = createReportReceiver(
    async () => {
      handled += 1;
      receiver.stop();
      throw new Error("the database is gone");
    },
    { log: createLogger("silent") },
  );
  // A message rejected this often is handled alone.
  const attempt = 4;
  const outcomes = [
    receiver.receive(reports, attempt, noStart),
    receiver.receive(reports, attempt, noStart),
  ];
  expect(await Promise.all(outcomes)).toEqual([false, false]);
  expect(handled).toBe(1);
});

it("does not gather reports before handling a message alone", async () => {
  const receiver = createReportReceiver(async () => undefined, { log: createLogger("silent") });
  const reports = [{ run_id: "run" } as RunReport];
  const messages = Array.from({ length: 100 }, () => receiver.receive(reports, 4, noStart));
  let handled = 0;
  for (const message of messages) void message.then((isHandled) => (handled += Number(isHandled)));
  // Gathering takes up to a second each time.
  await expect.poll(() => handled).toBe(messages.length);
});
