import { describe, expect, it, onTestFinished } from "vitest";
import { createIntake } from "../../src/agent/intake.ts";
import { createAgentMetrics } from "../../src/agent/metrics.ts";
import { createRunLog } from "../../src/agent/run-log.ts";
import { createKeptReports } from "../../src/agent/reporting/kept-reports.ts";
import { createReportPublisher } from "../../src/agent/reporting/report-publisher.ts";
import type { Bus } from "../../src/bus/bus.ts";
import { createInProcessBus } from "../../src/bus/in-process.ts";
import type { RunReport } from "../../src/model/result.ts";
import type { Tick } from "../../src/model/tick.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import { createRegistry } from "../../src/runtime/metrics.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { startTarget } from "../support/target-server.ts";
import { newCall, newRunSettings, newTick, newWorkflow } from "./calling.ts";

/** Creates an intake on a slow bus, which stores reports only on demand. */
function newIntake({
  concurrency = 10,
  callsLimitMs,
}: { readonly concurrency?: number; readonly callsLimitMs?: number } = {}) {
  const clock = createManualClock(0);
  const log = createLogger("silent");
  const metrics = createAgentMetrics(createRegistry({ version: "test" }));
  const offered: RunReport[] = [];
  const waiting: (() => void)[] = [];
  let refusal: Error | undefined;
  const bus = createInProcessBus({ clock, log });
  onTestFinished(() => bus.close());
  const slowBus: Bus = {
    ...bus,
    async publishReports(reports) {
      if (refusal) throw refusal;
      offered.push(...reports);
      await new Promise<void>((resolve) => waiting.push(resolve));
      return bus.publishReports(reports);
    },
  };
  const kept = createKeptReports(clock);
  const intake = createIntake({
    ...newRunSettings({ clock, log, ...(callsLimitMs !== undefined && { callsLimitMs }) }),
    metrics,
    runLog: createRunLog(log, metrics),
    concurrency,
    publisher: createReportPublisher({ bus: slowBus, log, metrics, kept }),
    kept,
  });
  const take = (ticks: readonly Tick[], onStarted = (): void => undefined): Promise<void> =>
    intake.take(ticks, onStarted);
  return {
    clock,
    intake: { ...intake, take },
    offered,
    refuse: (reason: Error) => void (refusal = reason),
    storeAll: () => {
      for (const store of waiting.splice(0)) store();
    },
  };
}

describe("a message of ticks", () => {
  it("is done only once its reports are stored", async () => {
    await using target = await startTarget();
    const { intake, offered, storeAll } = newIntake();
    let done = false;
    const taken = intake.take([newTick(newCall({ url: target.url }))]).then(() => (done = true));
    await expect.poll(() => offered).toHaveLength(1);
    expect(done).toBe(false);
    storeAll();
    await taken;
    expect(done).toBe(true);
  });

  it("has started once all of its runs have", async () => {
    const answers: (() => void)[] = [];
    await using target = await startTarget((_, response) => {
      answers.push(() => response.end());
    });
    const { intake, offered, storeAll } = newIntake({ concurrency: 1 });
    const ticks = ["one", "two"].map((id) =>
      newTick(newCall({ url: target.url }, { result_id: id })),
    );
    let started = false;
    const taken = intake.take(ticks, () => (started = true));
    await expect.poll(() => answers).toHaveLength(1);
    expect(started).toBe(false);
    answers[0]?.();
    await expect.poll(() => answers).toHaveLength(2);
    expect(started).toBe(true);
    answers[1]?.();
    await expect.poll(() => offered).toHaveLength(2);
    storeAll();
    await taken;
  });

  it("that is redelivered while it runs joins the run", async () => {
    await using target = await startTarget();
    const { intake, offered, storeAll } = newIntake();
    const tick = newTick(newCall({ url: target.url }));
    const both = [intake.take([tick]), intake.take([tick])];
    await expect.poll(() => offered).toHaveLength(1);
    storeAll();
    await Promise.all(both);
    expect(target.requests).toHaveLength(1);
  });

  it("that is redelivered after its reports are stored is done at once", async () => {
    await using target = await startTarget();
    const { intake, offered, storeAll } = newIntake();
    const tick = newTick(newCall({ url: target.url }));
    const taken = intake.take([tick]);
    await expect.poll(() => offered).toHaveLength(1);
    storeAll();
    await taken;
    await intake.take([tick]);
    expect(offered).toHaveLength(1);
    expect(target.requests).toHaveLength(1);
  });

  it("is given back when the bus rejects its reports, which are kept", async () => {
    await using target = await startTarget();
    const { intake, refuse } = newIntake();
    refuse(new Error("a bug"));
    const tick = newTick(newCall({ url: target.url }));
    await expect(intake.take([tick])).rejects.toThrow("a bug");
    await expect(intake.take([tick])).rejects.toThrow("a bug");
    expect(target.requests).toHaveLength(1);
  });

  it("is finished if one of its ticks has started when the agent stops; others are given back", async () => {
    const answers: (() => void)[] = [];
    await using target = await startTarget((_, response) => {
      answers.push(() => response.end());
    });
    const { intake, offered, storeAll } = newIntake({ concurrency: 1 });
    const tick = (result_id: string): Tick => newTick(newCall({ url: target.url }, { result_id }));
    const started = intake.take([tick("one"), tick("two")]);
    await expect.poll(() => answers).toHaveLength(1);
    const waiting = intake.take([tick("three")]);
    waiting.catch(() => undefined);
    intake.stop();
    await expect(waiting).rejects.toThrow("the agent accepts no more ticks");
    await expect(intake.take([tick("four")])).rejects.toThrow("the agent accepts no more ticks");
    answers[0]?.();
    await expect.poll(() => answers).toHaveLength(2);
    answers[1]?.();
    await expect.poll(() => offered.map(({ run_id }) => run_id)).toEqual(["one", "two"]);
    storeAll();
    await started;
  });

  it("is reported when its run is cancelled: no other agent repeats its calls", async () => {
    await using target = await startTarget((request, response) => {
      if (request.url === "/made") response.end();
    });
    const { intake, offered, storeAll } = newIntake();
    const tick = (path: string): Tick =>
      newTick(newCall({ url: `${target.url}${path}` }, { result_id: path }));
    const taken = intake.take([tick("/made"), tick("/open")]);
    await expect.poll(() => offered).toHaveLength(1);
    await expect.poll(() => target.requests).toHaveLength(2);
    intake.stop();
    intake.cancel();
    await expect.poll(() => offered).toHaveLength(2);
    storeAll();
    await taken;
    expect(offered.map(({ results: [result] }) => result?.meta)).toMatchObject([
      { result: "COMPLETE" },
      {
        result: "AGENT_ERROR",
        message: "agent_error: the agent stopped before the run ended",
      },
    ]);
    await expect.poll(() => target.open()).toBe(0);
  });
});

it("a message whose runs have started in part is not given back when they are cancelled", async () => {
  await using target = await startTarget(() => undefined);
  const { intake, offered, storeAll } = newIntake({ concurrency: 1 });
  const taken = intake.take(
    ["one", "two"].map((result_id) => newTick(newCall({ url: target.url }, { result_id }))),
  );
  await expect.poll(() => target.requests).toHaveLength(1);
  intake.stop();
  intake.cancel();
  await expect.poll(() => offered).toHaveLength(2);
  storeAll();
  await taken;
  expect(offered.map(({ results: [result] }) => result?.meta.result)).toEqual([
    "AGENT_ERROR",
    "AGENT_ERROR",
  ]);
  expect(target.requests).toHaveLength(1);
});

describe("a workflow that waits for a place", () => {
  const CALLS_LIMIT_MS = 1500;

  /**
   * Starts a workflow whose first call is made and whose delay is over, while a call without an
   * answer holds its place.
   */
  async function startWaiting() {
    const target = await startTarget();
    let answer = (): void => undefined;
    const slow = await startTarget((_, response) => {
      answer = () => void response.end();
    });
    const agent = newIntake({
      concurrency: 1,
      callsLimitMs: CALLS_LIMIT_MS,
    });
    const { intake, clock } = agent;
    const calls = ["one", "two"].map((result_id) => newCall({ url: target.url }, { result_id }));
    const workflow = intake.take([
      {
        ...newTick(newCall()),
        result_id: "run",
        calls,
        workflow: newWorkflow({ between_calls_delay: 0.001 }),
      },
    ]);
    workflow.catch(() => undefined);
    await expect.poll(() => clock.waiting()).toEqual([1]);
    const blocker = intake.take([newTick(newCall({ url: slow.url }))]);
    blocker.catch(() => undefined);
    await expect.poll(() => slow.requests).toHaveLength(1);
    await clock.advance(1);
    return {
      ...agent,
      workflow,
      target,
      answer: () => answer(),
      async [Symbol.asyncDispose]() {
        await Promise.all([target, slow].map((each) => each[Symbol.asyncDispose]()));
      },
    };
  }

  it("continues once it has a place again, however long that takes", async () => {
    await using waiting = await startWaiting();
    const { target, answer, offered, storeAll, workflow } = waiting;
    await systemClock.pause(CALLS_LIMIT_MS + 100);
    expect(target.requests).toHaveLength(1);
    answer();
    await expect.poll(() => offered).toHaveLength(2);
    const report = offered.find(({ run_id }) => run_id === "run");
    expect(report?.workflow?.meta).toMatchObject({ result: "COMPLETE" });
    storeAll();
    await workflow;
  });

  it("is reported with the calls that it has made when it is cancelled", async () => {
    await using waiting = await startWaiting();
    const { target, intake, offered, storeAll, workflow } = waiting;
    intake.cancel();
    await expect.poll(() => offered).toHaveLength(2);
    storeAll();
    await workflow;
    const report = offered.find(({ run_id }) => run_id === "run");
    expect(report?.results.map(({ meta }) => meta.result)).toEqual(["COMPLETE", "AGENT_ERROR"]);
    expect(report?.workflow?.meta).toMatchObject({ result: "AGENT_ERROR" });
    expect(intake.count().in_flight).toBe(0);
    expect(target.requests).toHaveLength(1);
  });
});
