// @module-tag slow
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createAgentMetrics } from "../../../src/agent/metrics.ts";
import type { AgentMetrics } from "../../../src/agent/metrics.ts";
import { createKeptReports } from "../../../src/agent/reporting/kept-reports.ts";
import { createReportPublisher } from "../../../src/agent/reporting/report-publisher.ts";
import { createSpool } from "../../../src/agent/reporting/spool.ts";
import type { Spool } from "../../../src/agent/reporting/spool.ts";
import { TooLargeError } from "../../../src/bus/bus.ts";
import type { Bus } from "../../../src/bus/bus.ts";
import { createInProcessBus } from "../../../src/bus/in-process.ts";
import { unavailable } from "../../../src/model/errors.ts";
import type { RunReport } from "../../../src/model/result.ts";
import { systemClock } from "../../../src/runtime/clock.ts";
import { createLogger } from "../../../src/runtime/logger.ts";
import { createRegistry } from "../../../src/runtime/metrics.ts";
import { createManualClock } from "../../support/manual-clock.ts";
import { makeFolder } from "../../support/process.ts";
import { T0, aReport, aRun } from "../../support/runs.ts";

type Answer = "takes" | "takes reports only" | "is away" | "refuses" | "hangs";

const TAKES: readonly Answer[] = ["takes", "takes reports only"];
const CONNECTED: readonly Answer[] = ["takes", "refuses", "hangs"];

/** Creates a publisher on a bus that answers reports as the test wants. */
function newPublisher({
  spoolPath,
  tooLarge = () => false,
  impossible = () => false,
  answerAfterMs = 0,
}: {
  readonly spoolPath?: string;
  /** Whether the bus rejects the report as too large. */
  readonly tooLarge?: (report: RunReport) => boolean;
  /** Whether the bus rejects its batch for an unforeseen reason. */
  readonly impossible?: (report: RunReport) => boolean;
  readonly answerAfterMs?: number;
} = {}) {
  const clock = createManualClock(T0);
  const lines: string[] = [];
  const log = createLogger("info", { write: (line) => void lines.push(line) });
  const metrics = createAgentMetrics(createRegistry({ version: "test" }));
  const inProcess = createInProcessBus({ clock, log });
  const taken: RunReport[] = [];
  const sizes: number[] = [];
  const hanging: (() => void)[] = [];
  let answer: Answer = "takes";
  void inProcess.consumeReports(async (batch) => void taken.push(...batch));
  const bus: Bus = {
    ...inProcess,
    async publishReports(reports) {
      sizes.push(reports.length);
      if (answerAfterMs > 0) await systemClock.pause(answerAfterMs);
      if (answer === "hangs") await new Promise<void>((resolve) => hanging.push(resolve));
      else if (!TAKES.includes(answer)) throw unavailable("no answer in 5 s");
      if (reports.some(impossible)) throw new Error("a bug");
      const { fits = [], large = [] } = Object.groupBy(reports, (report) =>
        tooLarge(report) ? "large" : "fits",
      );
      await inProcess.publishReports(fits);
      if (large.length > 0) throw new TooLargeError(idsOf(large), "too large");
    },
    status: () => ({ connected: CONNECTED.includes(answer), detail: "" }),
  };
  const folder = makeFolder();
  const path = spoolPath ?? join(folder.path, "spool.db");
  const real = createSpool({ path, locationId: "local", log, metrics });
  const puts: number[] = [];
  const spool: Spool = {
    ...real,
    put(reports) {
      puts.push(reports.length);
      return real.put(reports);
    },
  };
  spool.open();
  const delivered: string[] = [];
  const publisher = createReportPublisher({
    bus,
    log,
    metrics,
    spool,
    kept: { ...createKeptReports(systemClock), published: (id) => void delivered.push(id) },
  });
  onTestFinished(async () => {
    publisher.end();
    spool.close();
    await inProcess.close();
    folder[Symbol.dispose]();
  });
  return {
    publisher,
    spool,
    metrics,
    taken,
    /** How many reports each message had. */
    sizes,
    /** The runs whose reports were delivered from the spool. */
    delivered,
    /** How many reports the spool was offered each time. */
    puts,
    messages: () => lines.map((line) => (JSON.parse(line) as { msg: string }).msg),
    now: (next: Answer) => {
      answer = next;
      if (next !== "hangs") for (const go of hanging.splice(0)) go();
    },
  };
}

const dueAt = (seconds: number): RunReport => aReport(aRun({ due_time: T0 + seconds * 1000 }));

const dueOf = ({ results }: RunReport): number => Date.parse(results[0]?.meta.due_time ?? "");

const idsOf = (reports: readonly RunReport[]): string[] => reports.map(({ run_id }) => run_id);

/** Returns a function that tells whether the promise has resolved. */
function watched(promise: Promise<unknown>): () => boolean {
  let kept = false;
  void promise.then(() => (kept = true));
  return () => kept;
}

/** Counts the dropped reports by reason. */
async function droppedBy({ spoolDropped }: AgentMetrics): Promise<Record<string, number>> {
  const counted = (await spoolDropped.get()).values.filter(({ value }) => value > 0);
  return Object.fromEntries(counted.map(({ labels, value }) => [labels.reason, value]));
}

describe("a report", () => {
  it("is not written to disk while the bus accepts it", async () => {
    const { publisher, taken, puts } = newPublisher();
    const reports = Array.from({ length: 300 }, (_, n) => dueAt(n));
    await Promise.all(reports.map((report) => publisher.publish(report)));
    await expect.poll(() => taken).toHaveLength(300);
    expect(puts).toEqual([]);
  });

  it("shares its message with others, as long as encoding takes little time", async () => {
    const { publisher, sizes } = newPublisher();
    const withBody = (report: RunReport, length: number): RunReport => ({
      ...report,
      results: report.results.map((result) => ({
        ...result,
        request: { url: "", method: "GET", headers: [], body: "x".repeat(length) },
      })),
    });
    const reports = Array.from({ length: 60 }, (_, n) => dueAt(n));
    await Promise.all(reports.map((report) => publisher.publish(report)));
    expect(sizes).toEqual([50, 10]);
    sizes.length = 0;
    const large = reports.slice(0, 6).map((report) => withBody(report, 50_000));
    await Promise.all(large.map((report) => publisher.publish(report)));
    expect(sizes).toEqual([2, 2, 2]);
  });

  it("waits longer for others while many arrive", async () => {
    const { publisher, sizes } = newPublisher();
    await Promise.all(Array.from({ length: 25 }, (_, n) => publisher.publish(dueAt(n))));
    const early = publisher.publish(dueAt(25));
    await systemClock.pause(50);
    await Promise.all([early, publisher.publish(dueAt(26))]);
    expect(sizes).toEqual([25, 2]);
  });

  it("waits in the spool while the bus is down, and is delivered in order of due time", async () => {
    const { publisher, spool, taken, now, metrics } = newPublisher();
    now("is away");
    const reports = Array.from({ length: 300 }, (_, n) => dueAt((n * 7) % 300));
    const all = Promise.all(reports.map((each) => publisher.publish(each)));
    const isDone = watched(all);
    await expect.poll(() => spool.size()).toBe(300);
    expect((await metrics.unpublishedReports.get()).values[0]?.value).toBe(0);
    expect(isDone(), "its tick is acknowledged").toBe(false);
    now("takes");
    await all;
    await expect.poll(() => taken).toHaveLength(300);
    expect(idsOf(taken)).toEqual(idsOf(reports.toSorted((a, b) => dueOf(a) - dueOf(b))));
    expect(spool.size()).toBe(0);
  });

  it("goes directly to the bus once it is back", async () => {
    const { publisher, spool, taken, puts, now } = newPublisher();
    now("is away");
    const first = publisher.publish(dueAt(1));
    await expect.poll(() => spool.size()).toBe(1);
    now("takes");
    await first;
    const spooled = puts.length;
    await publisher.publish(dueAt(2));
    await expect.poll(() => taken).toHaveLength(2);
    expect(puts).toHaveLength(spooled);
  });

  it("resolves when spooled while the bus is connected, even if the bus refuses reports", async () => {
    const { publisher, spool, now } = newPublisher();
    now("refuses");
    await publisher.publish(dueAt(1));
    expect(spool.size()).toBe(1);
  });

  it("resolves when delivered from the spool, even if the bus reports no connection", async () => {
    const { publisher, spool, taken, now } = newPublisher();
    now("is away");
    const done = publisher.publish(dueAt(1));
    await expect.poll(() => spool.size()).toBe(1);
    now("takes reports only");
    await done;
    await expect.poll(() => taken).toHaveLength(1);
  });

  it("is not written to disk if the bus answers within 600 ms", async () => {
    const { publisher, taken, puts } = newPublisher({ answerAfterMs: 600 });
    const reports = Array.from({ length: 300 }, (_, n) => dueAt(n));
    await Promise.all(reports.map((report) => publisher.publish(report)));
    expect(puts).toEqual([]);
    await expect.poll(() => taken).toHaveLength(300);
  });

  it("is spooled until the bus answers, then removed", async () => {
    const { publisher, spool, taken, delivered, now } = newPublisher();
    now("hangs");
    const report = dueAt(1);
    const done = publisher.publish(report);
    await expect.poll(() => spool.size()).toBe(1);
    const behind = publisher.publish(dueAt(2));
    await expect.poll(() => spool.size()).toBe(2);
    now("takes");
    await Promise.all([done, behind]);
    await expect.poll(() => spool.size()).toBe(0);
    await expect.poll(() => taken).toHaveLength(2);
    expect(delivered).not.toContain(report.run_id);
  });

  it("waits in memory if the disk cannot be written", async () => {
    const { publisher, taken, puts, now, messages } = newPublisher({
      spoolPath: "/proc/nowhere/spool.db",
    });
    now("is away");
    const reports = Array.from({ length: 1000 }, (_, n) => dueAt(n));
    const publish = (some: RunReport[]) => some.map((each) => publisher.publish(each));
    const first = publish(reports.slice(0, 50));
    await expect.poll(() => messages()).toContain("bus did not accept reports");
    const all = Promise.all([...first, ...publish(reports.slice(50))]);
    // Each attempt encodes what it offers, however many wait.
    expect(Math.max(...puts)).toBe(50);
    now("takes");
    await all;
    await expect.poll(() => new Set(idsOf(taken)).size).toBe(1000);
    const failed = "spool unavailable: reports wait in memory";
    expect(messages().filter((message) => message === failed)).toHaveLength(1);
  });
});

describe("a batch with a report too large for the bus", () => {
  const NOTE = "the report had no room for its details";
  const isBare = ({ results }: RunReport): boolean => results[0]?.meta.message === NOTE;

  it("is delivered, the large report without its details", async () => {
    const large = dueAt(0);
    const { publisher, taken, messages } = newPublisher({
      tooLarge: (report) => report.run_id === large.run_id && !isBare(report),
    });
    const batch = [large, ...Array.from({ length: 8 }, (_, n) => dueAt(n))];
    await Promise.all(batch.map((each) => publisher.publish(each)));
    await expect.poll(() => taken).toHaveLength(9);
    expect(idsOf(taken.filter(isBare))).toEqual([large.run_id]);
    expect(messages()).toEqual(["reports too large: delivered without details"]);
  });

  it("resolves even if the bare report does not fit", async () => {
    const large = dueAt(0);
    const { publisher, taken, messages, metrics } = newPublisher({
      tooLarge: ({ run_id }) => run_id === large.run_id,
    });
    await Promise.all([large, dueAt(1)].map((each) => publisher.publish(each)));
    await expect.poll(() => taken).toHaveLength(1);
    expect(messages()).toEqual(["reports too large even without details: dropped"]);
    expect(await droppedBy(metrics)).toEqual({ too_large: 1 });
  });
});

describe("a spool left by an earlier process", () => {
  it("is delivered from the start, along with fresh reports", async () => {
    const { publisher, spool, taken, delivered } = newPublisher();
    const left = Array.from({ length: 500 }, (_, n) => dueAt(n));
    spool.put(left);
    publisher.begin();
    await publisher.publish(dueAt(1000));
    expect(spool.size(), "still waiting").toBeGreaterThan(0);
    await expect.poll(() => spool.size()).toBe(0);
    expect(delivered).toEqual(idsOf(left));
    await expect.poll(() => taken).toHaveLength(501);
  });

  it("is delivered even if another process held it at the start", async () => {
    using folder = makeFolder();
    const spoolPath = join(folder.path, "spool.db");
    const before = newPublisher({ spoolPath });
    const left = [dueAt(1), dueAt(2)];
    before.spool.put(left);
    const { publisher, taken, messages } = newPublisher({ spoolPath });
    publisher.begin();
    expect(messages()).toContain("spool unavailable: reports wait in memory");
    before.spool.close();
    await expect.poll(() => taken).toEqual(left);
  });

  it("drops reports that the bus can never carry", async () => {
    const [large = dueAt(0), ...others] = Array.from({ length: 9 }, (_, n) => dueAt(n));
    const { publisher, spool, taken, metrics } = newPublisher({
      tooLarge: ({ run_id }) => run_id === large.run_id,
    });
    spool.put([large, ...others]);
    publisher.begin();
    await expect.poll(() => spool.size()).toBe(0);
    await expect.poll(() => idsOf(taken)).toEqual(idsOf(others));
    expect(await droppedBy(metrics)).toEqual({ too_large: 1 });
  });
});

describe("a spooled report that the bus refuses", () => {
  it("is dropped and counted, and delays no other", async () => {
    const [bad = dueAt(0), ...others] = Array.from({ length: 90 }, (_, n) => dueAt(n));
    const { publisher, spool, taken, puts, metrics, messages } = newPublisher({
      impossible: ({ run_id }) => run_id === bad.run_id,
    });
    spool.put([bad, ...others]);
    const spooled = puts.length;
    publisher.begin();
    await publisher.publish(dueAt(1000));
    expect(puts, "to the bus directly").toHaveLength(spooled);
    await expect.poll(() => spool.size()).toBe(0);
    await expect.poll(() => taken).toHaveLength(90);
    expect(idsOf(taken)).not.toContain(bad.run_id);
    expect(await droppedBy(metrics)).toEqual({ refused: 1 });
    expect(messages()).toContain("spooled report dropped: the bus rejected it");
  });
});

describe("a finishing publisher", () => {
  it("does not wait for the bus if the spool has the report", async () => {
    const { publisher, spool, now } = newPublisher();
    now("is away");
    const before = publisher.publish(dueAt(1));
    await expect.poll(() => spool.size()).toBe(1);
    publisher.finish();
    await before;
    await publisher.publish(dueAt(2));
    expect(spool.size()).toBe(2);
  });

  it("rejects reports that neither bus nor spool has accepted when abandoned", async () => {
    const { publisher, now, messages } = newPublisher({
      spoolPath: "/proc/nowhere/spool.db",
    });
    now("is away");
    const all = Array.from({ length: 300 }, (_, n) => publisher.publish(dueAt(n)));
    await expect.poll(() => messages()).toContain("bus did not accept reports");
    publisher.finish();
    publisher.abandon(new Error("the end"));
    for (const end of await Promise.allSettled(all))
      expect(end).toMatchObject({ reason: { message: "the end" } });
  });
});
