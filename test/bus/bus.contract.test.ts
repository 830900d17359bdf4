// The promises of the bus port (src/bus/bus.ts), which every adapter must keep.
// @module-tag slow
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { ANSWER_MS, MAX_UNDER_WAY } from "../../src/bus/bus.ts";
import type { Heartbeat } from "../../src/model/heartbeat.ts";
import type { RunReport } from "../../src/model/result.ts";
import type { Tick } from "../../src/model/tick.ts";
import { undisturbed } from "../support/undisturbed.ts";
import { until } from "../support/until.ts";
import { ACK_WAIT_MS, ADAPTERS, aHeartbeat, aRunReport, aTick, newLocation } from "./buses.ts";

const idOf = (ticks: readonly Tick[]): string => ticks[0]?.result_id ?? "";

/** Creates a handler that remembers what it was given. */
function recorder<T>() {
  const taken: T[] = [];
  const handler = async (content: T): Promise<void> => void taken.push(content);
  return { taken, handler };
}

describe.each(ADAPTERS)("ticks on the $name bus", ({ start, encodes }) => {
  it("reach a consumer of their location as they were published", async () => {
    await using fixture = await start();
    const [hub, agent] = [await fixture.join(), await fixture.join()];
    const location_id = newLocation();
    const batch = [
      aTick({ location_id, context: { name: "Zoë", list: [1, null] } }),
      aTick({ location_id }),
    ];
    const { taken, handler } = recorder<readonly Tick[]>();
    await agent.consumeTicks(location_id, handler);
    await hub.publishTicks(batch);
    await until(() => expect(taken).toEqual([batch]));
    Reflect.set(taken[0]?.[0] ?? {}, "trigger", "MANUAL");
    expect(batch[0]?.trigger).toBe("SCHEDULE");
  });

  it("wait for a consumer", async () => {
    await using fixture = await start();
    const bus = await fixture.join();
    const location_id = newLocation();
    const tick = aTick({ location_id });
    await bus.publishTicks([tick]);
    const { taken, handler } = recorder<readonly Tick[]>();
    await (await fixture.join()).consumeTicks(location_id, handler);
    await until(() => expect(taken).toEqual([[tick]]));
  });

  it("never reach a consumer of another location", async () => {
    await using fixture = await start();
    const bus = await fixture.join();
    const [here, there] = [newLocation(), newLocation()];
    const [mine, theirs] = [recorder<readonly Tick[]>(), recorder<readonly Tick[]>()];
    await bus.consumeTicks(here, mine.handler);
    await bus.consumeTicks(there, theirs.handler);
    const [one, other] = [aTick({ location_id: there }), aTick({ location_id: here })];
    await bus.publishTicks([one]);
    await bus.publishTicks([other]);
    await until(() => {
      expect(mine.taken).toEqual([[other]]);
      expect(theirs.taken).toEqual([[one]]);
    });
  });

  it("are shared by the consumers of a location, each message once", async () => {
    await using fixture = await start();
    const hub = await fixture.join();
    const location_id = newLocation();
    const counts = [0, 0, 0];
    const seen: string[] = [];
    for (const at of counts.keys()) {
      const agent = await fixture.join();
      await agent.consumeTicks(location_id, async (ticks) => {
        counts[at] = (counts[at] ?? 0) + 1;
        seen.push(idOf(ticks));
        await delay(5);
      });
    }
    const published: string[] = [];
    await until(async () => {
      const ticks = [aTick({ location_id })];
      published.push(idOf(ticks));
      await hub.publishTicks(ticks);
      expect(Math.min(...counts)).toBeGreaterThan(3);
    });
    await until(() => expect(seen.toSorted()).toEqual(published.toSorted()));
  });

  it("are redelivered alone if the handler rejected only them", async () => {
    await using fixture = await start();
    const hub = await fixture.join();
    const location_id = newLocation();
    const ticks = Array.from({ length: 20 }, () => aTick({ location_id }));
    const last = ticks.at(-1)?.result_id;
    const handled: string[] = [];
    let hasRejected = false;
    await (
      await fixture.join()
    ).consumeTicks(location_id, async (message) => {
      const ids = message.map(({ result_id }) => result_id);
      if (!hasRejected && ids.includes(last ?? "")) {
        hasRejected = true;
        throw new Error("given back");
      }
      handled.push(...ids);
    });
    await hub.publishTicks(ticks);
    const all = ticks.map(({ result_id }) => result_id).toSorted();
    await until(() => expect(handled.toSorted()).toEqual(all));
  });

  it("are redelivered after their handler rejected", async () => {
    await using fixture = await start();
    const bus = await fixture.join();
    const location_id = newLocation();
    const attempts: number[] = [];
    await bus.consumeTicks(location_id, async () => {
      attempts.push(performance.now());
      if (attempts.length < 3) throw new Error("not now");
    });
    await bus.publishTicks([aTick({ location_id })]);
    await until(() => expect(attempts).toHaveLength(3));
    const [first = 0, second = 0, third = 0] = attempts;
    expect(second - first).toBeGreaterThan(95);
    expect(third - second).toBeGreaterThan(195);
  });

  it("reach another consumer when theirs keeps rejecting", async () => {
    await using fixture = await start();
    const location_id = newLocation();
    const [bad, good] = [await fixture.join(), await fixture.join()];
    let rejected = 0;
    await bad.consumeTicks(location_id, async () => {
      rejected += 1;
      throw new Error("never");
    });
    await bad.publishTicks([aTick({ location_id })]);
    await until(() => expect(rejected).toBeGreaterThan(0));
    const { taken, handler } = recorder<readonly Tick[]>();
    await good.consumeTicks(location_id, handler);
    await until(() => expect(taken).toHaveLength(1));
  });

  it("are not redelivered while their handler works", async () => {
    await using fixture = await start();
    const [bus, other] = [await fixture.join(), await fixture.join()];
    const location_id = newLocation();
    const taken: string[] = [];
    const handler = async (ticks: readonly Tick[]): Promise<void> => {
      taken.push(idOf(ticks));
      if (taken.length === 1) await delay(fixture.hasAckWait ? 1.2 * ACK_WAIT_MS : 0);
      else finished();
    };
    const { promise, resolve: finished } = Promise.withResolvers<void>();
    const [slow, next] = [aTick({ location_id }), aTick({ location_id })];
    const consumer = await bus.consumeTicks(location_id, handler);
    await other.consumeTicks(location_id, handler);
    await bus.publishTicks([slow]);
    await until(() => expect(taken).toHaveLength(1));
    await consumer.drain();
    await bus.publishTicks([next]);
    await promise;
    expect(taken).toEqual([slow.result_id, next.result_id]);
  });

  it("are left to others while a consumer holds as many as it may", async () => {
    await using fixture = await start();
    const [hub, agent, other] = [await fixture.join(), await fixture.join(), await fixture.join()];
    const location_id = newLocation();
    const ended = Promise.withResolvers<void>();
    using _ = { [Symbol.dispose]: () => ended.resolve() };
    let held = 0;
    await agent.consumeTicks(location_id, () => {
      held += 1;
      return ended.promise;
    });
    const ticks = Array.from({ length: MAX_UNDER_WAY + 10 }, () => aTick({ location_id }));
    await Promise.all(ticks.map((tick) => hub.publishTicks([tick])));
    await until(() => expect(held).toBeGreaterThanOrEqual(MAX_UNDER_WAY));
    const { taken, handler } = recorder<readonly Tick[]>();
    await other.consumeTicks(location_id, handler);
    await until(() => expect(taken).toHaveLength(10));
    expect(held).toBe(MAX_UNDER_WAY);
  });

  it("follow those whose runs have started, however many wait for their end", async () => {
    await using fixture = await start();
    const [hub, agent] = [await fixture.join(), await fixture.join()];
    const location_id = newLocation();
    const ended = Promise.withResolvers<void>();
    using _ = { [Symbol.dispose]: () => ended.resolve() };
    let held = 0;
    await agent.consumeTicks(location_id, (__, started) => {
      held += 1;
      started();
      return ended.promise;
    });
    const ticks = Array.from({ length: MAX_UNDER_WAY + 10 }, () => aTick({ location_id }));
    await Promise.all(ticks.map((tick) => hub.publishTicks([tick])));
    await until(() => expect(held).toBe(ticks.length));
  });

  it("are stored once when they are published twice", async () => {
    await using fixture = await start();
    const bus = await fixture.join();
    const location_id = newLocation();
    const [first, last] = [aTick({ location_id }), aTick({ location_id })];
    const { taken, handler } = recorder<readonly Tick[]>();
    await bus.publishTicks([first]);
    await bus.publishTicks([first]);
    await bus.consumeTicks(location_id, handler);
    await until(() => expect(taken).toEqual([[first]]));
    await bus.publishTicks([first]);
    await bus.publishTicks([last]);
    await until(() => expect(taken).toEqual([[first], [last]]));
  });

  it.runIf(encodes)(
    "are dropped when they cannot be decoded, without delaying others",
    async () => {
      await using fixture = await start();
      const bus = await fixture.join();
      const location_id = newLocation();
      const { taken, handler } = recorder<readonly Tick[]>();
      await bus.consumeTicks(location_id, handler);
      const sound = aTick({ location_id });
      await bus.publishTicks([aTick({ location_id, calls: [] })]);
      await bus.publishTicks([sound]);
      await until(() => expect(taken).toEqual([[sound]]));
      await until(() => expect(fixture.dropped).toEqual(["ticks"]));
    },
  );

  it("are rejected when they belong to several locations", async () => {
    await using fixture = await start();
    const bus = await fixture.join();
    const ticks = [newLocation(), newLocation()].map((location_id) => aTick({ location_id }));
    await expect(bus.publishTicks(ticks)).rejects.toThrow("one location");
  });

  it("are rejected when the location cannot be a subject", async () => {
    await using fixture = await start();
    const bus = await fixture.join();
    const { handler } = recorder<readonly Tick[]>();
    for (const location_id of ["*", "a.b", ""]) {
      await expect(bus.consumeTicks(location_id, handler)).rejects.toThrow("is not a location id");
      await expect(bus.publishTicks([aTick({ location_id })])).rejects.toThrow(
        "is not a location id",
      );
    }
  });
});

describe.each(ADAPTERS)("draining a consumer of the $name bus", ({ start }) => {
  it("waits for running handlers and accepts nothing new", async () => {
    await using fixture = await start();
    const bus = await fixture.join();
    const location_id = newLocation();
    const release = Promise.withResolvers<void>();
    const taken: string[] = [];
    const consumer = await bus.consumeTicks(location_id, async (ticks) => {
      taken.push(idOf(ticks));
      await release.promise;
    });
    const [held, later] = [aTick({ location_id }), aTick({ location_id })];
    await bus.publishTicks([held]);
    await until(() => expect(taken).toHaveLength(1));
    let drained = false;
    const draining = consumer.drain().then(() => (drained = true));
    await bus.publishTicks([later]);
    expect(drained).toBe(false);
    release.resolve();
    await draining;
    const { taken: takenByNext, handler } = recorder<readonly Tick[]>();
    await bus.consumeTicks(location_id, handler);
    await until(() => expect(takenByNext).toEqual([[later]]));
    expect(taken).toEqual([held.result_id]);
  });

  it("releases ticks that its handlers reject", async () => {
    await using fixture = await start();
    const [leaving, staying] = [await fixture.join(), await fixture.join()];
    const location_id = newLocation();
    const leave = Promise.withResolvers<void>();
    let started = 0;
    const consumer = await leaving.consumeTicks(location_id, async () => {
      started += 1;
      await leave.promise;
      throw new Error("this agent is leaving");
    });
    const ticks = Array.from({ length: 5 }, () => aTick({ location_id }));
    for (const tick of ticks) await leaving.publishTicks([tick]);
    await until(() => expect(started).toBe(5));
    const draining = consumer.drain();
    leave.resolve();
    await draining;
    const { taken, handler } = recorder<readonly Tick[]>();
    await staying.consumeTicks(location_id, handler);
    await until(() => expect(taken).toHaveLength(5));
    expect(new Set(taken.map(idOf))).toEqual(new Set(ticks.map((tick) => tick.result_id)));
  });

  it("loses no gathered reports", async () => {
    await using fixture = await start();
    const bus = await fixture.join();
    const location_id = newLocation();
    const release = Promise.withResolvers<void>();
    const batches: (readonly RunReport[])[] = [];
    const consumer = await bus.consumeReports(async (batch) => {
      batches.push(batch);
      await release.promise;
    });
    const [first, second] = [aRunReport(location_id), aRunReport(location_id)];
    await bus.publishReports([first]);
    await until(() => expect(batches).toHaveLength(1));
    await bus.publishReports([second]);
    const next = recorder<readonly RunReport[]>();
    const draining = consumer.drain();
    release.resolve();
    await draining;
    await bus.consumeReports(next.handler);
    await until(() => expect([...batches, ...next.taken].flat()).toEqual([first, second]));
  });
});

describe.each(ADAPTERS)("reports on the $name bus", ({ start }) => {
  const runIds = (reports: readonly RunReport[]): string[] =>
    reports.map((report) => report.run_id).toSorted();

  it("of a backlog are handed over in batches of at most 5000", async () => {
    await using fixture = await start();
    const bus = await fixture.join();
    const location_id = newLocation();
    const messages = Array.from({ length: 72 }, () =>
      Array.from({ length: 100 }, () => aRunReport(location_id)),
    );
    await Promise.all(messages.map((reports) => bus.publishReports(reports)));
    const { taken, handler } = recorder<readonly RunReport[]>();
    await (await fixture.join()).consumeReports(handler);
    await until(() => expect(taken.flat()).toHaveLength(7200));
    expect(runIds(taken.flat())).toEqual(runIds(messages.flat()));
    const sizes = taken.map((batch) => batch.length);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(5000);
    expect(sizes.length).toBeLessThan(messages.length);
  });

  it("of a burst are handed over together", async () => {
    await using fixture = await start();
    const bus = await fixture.join();
    const location_id = newLocation();
    // A stall of a second would end a batch early.
    const batches = await undisturbed(async () => {
      const { taken, handler } = recorder<readonly RunReport[]>();
      const consumer = await bus.consumeReports(handler);
      const reports = Array.from({ length: 100 }, () => aRunReport(location_id));
      await bus.publishReports(reports.slice(0, 50));
      await delay(100); // longer than a lone report waits, shorter than a burst gathers
      await bus.publishReports(reports.slice(50));
      await until(() => expect(taken.flat()).toHaveLength(100));
      await consumer.drain();
      return taken;
    });
    expect(batches).toHaveLength(1);
  });

  it("are all redelivered when the handler of their batch rejects", async () => {
    await using fixture = await start();
    const bus = await fixture.join();
    const location_id = newLocation();
    const reports = Array.from({ length: 5 }, () => aRunReport(location_id));
    for (const report of reports) await bus.publishReports([report]);
    const rejected: string[] = [];
    const recorded: string[] = [];
    await bus.consumeReports(async (batch) => {
      if (rejected.length === 0) {
        rejected.push(...runIds(batch));
        throw new Error("the database is away");
      }
      recorded.push(...runIds(batch));
    });
    await until(() => expect(recorded.toSorted()).toEqual(runIds(reports)));
    expect(rejected.length).toBeGreaterThan(0);
  });

  it("are not blocked by one that is always rejected", async () => {
    await using fixture = await start();
    const bus = await fixture.join();
    const location_id = newLocation();
    const reports = Array.from({ length: 8 }, () => aRunReport(location_id));
    for (const report of reports) await bus.publishReports([report]);
    const poison = reports[3]?.run_id;
    const recorded: string[] = [];
    await bus.consumeReports(async (batch) => {
      if (batch.some((report) => report.run_id === poison))
        throw new Error("this one cannot be recorded");
      recorded.push(...runIds(batch));
    });
    const others = reports.filter((report) => report.run_id !== poison);
    await until(() => expect(recorded.toSorted()).toEqual(runIds(others)));
  });

  it("are stored once when they are published twice", async () => {
    await using fixture = await start();
    const bus = await fixture.join();
    const location_id = newLocation();
    const [first, last] = [aRunReport(location_id), aRunReport(location_id)];
    const { taken, handler } = recorder<readonly RunReport[]>();
    await bus.publishReports([first]);
    await bus.publishReports([first]);
    await bus.publishReports([last]);
    await bus.consumeReports(handler);
    await until(() => expect(runIds(taken.flat())).toEqual(runIds([first, last])));
  });

  it("of two agents on one run are both kept", async () => {
    await using fixture = await start();
    const bus = await fixture.join();
    const location_id = newLocation();
    const missed = aRunReport(location_id);
    const made = { ...missed, agent_id: "another" };
    await bus.publishReports([missed]);
    await bus.publishReports([made]);
    const agents: string[] = [];
    await bus.consumeReports(async (batch) => {
      agents.push(...batch.map(({ agent_id }) => agent_id));
    });
    await until(() =>
      expect(agents.toSorted()).toEqual([missed.agent_id, made.agent_id].toSorted()),
    );
  });

  it("are shared by consumers, each report once", async () => {
    await using fixture = await start();
    const recorders = [recorder<readonly RunReport[]>(), recorder<readonly RunReport[]>()];
    for (const { handler } of recorders) await (await fixture.join()).consumeReports(handler);
    const bus = await fixture.join();
    const location_id = newLocation();
    const published: RunReport[] = [];
    await until(async () => {
      const report = aRunReport(location_id);
      published.push(report);
      await bus.publishReports([report]);
      for (const { taken } of recorders) expect(taken).not.toEqual([]);
    });
    const all = (): RunReport[] => recorders.flatMap(({ taken }) => taken.flat());
    await until(() => expect(runIds(all())).toEqual(runIds(published)));
  });
});

describe.each(ADAPTERS)("a heartbeat on the $name bus", ({ name, start }) => {
  it("can name its sender's address only where a server sees it", async () => {
    await using fixture = await start();
    const bus = await fixture.join();
    expect(bus.seenAt()).toBe(name === "nats" ? "127.0.0.1" : "");
  });

  it("reaches one listener, and is not kept without one", async () => {
    await using fixture = await start();
    const bus = await fixture.join();
    const sent = Array.from({ length: 10 }, () => aHeartbeat(newLocation()));
    const [early = aHeartbeat(newLocation()), ...late] = sent;
    expect(await bus.sendHeartbeat(early)).toBeNull();
    const taken: Heartbeat[] = [];
    for (let listeners = 0; listeners < 3; listeners += 1)
      await bus.consumeHeartbeats(async (heartbeat, answer) => {
        taken.push(heartbeat);
        answer({ now: heartbeat.sent });
      });
    for (const heartbeat of late) await bus.sendHeartbeat(heartbeat);
    await until(() => expect(taken).toEqual(late));
  });

  it("is answered with the hub's time before its handler ends", async () => {
    await using fixture = await start();
    const [hub, agent] = [await fixture.join(), await fixture.join()];
    const release = Promise.withResolvers<void>();
    const consumer = await hub.consumeHeartbeats(async (_, answer) => {
      answer({ now: 1_790_000_000_123 });
      await release.promise;
    });
    await until(async () =>
      expect(await agent.sendHeartbeat(aHeartbeat(newLocation()))).toEqual({
        now: 1_790_000_000_123,
      }),
    );
    let drained = false;
    const draining = consumer.drain().then(() => (drained = true));
    await delay(100);
    expect(drained).toBe(false);
    release.resolve();
    await draining;
  });

  it("is answered to its sender", async () => {
    await using fixture = await start();
    const hub = await fixture.join();
    await hub.consumeHeartbeats(async ({ in_flight }, answer) => {
      await delay(50 - 10 * in_flight);
      answer({ now: in_flight, drain: true });
    });
    const senders = await Promise.all(
      [1, 2, 3, 4].map(async (in_flight) => {
        const [bus, heartbeat] = [await fixture.join(), aHeartbeat("here")];
        return () => bus.sendHeartbeat({ ...heartbeat, in_flight });
      }),
    );
    // A stall may take longer than a sender waits.
    const answers = await until(async () => {
      const answers = await Promise.all(senders.map((send) => send()));
      expect(answers).not.toContain(null);
      return answers;
    });
    expect(answers).toEqual([1, 2, 3, 4].map((now) => ({ now, drain: true })));
  });

  it.each([
    ["does not say its time", () => delay(ANSWER_MS + 600)],
    ["fails", async () => Promise.reject(new Error("no database"))],
  ])("has no answer when its consumer %s", async (_, handler) => {
    await using fixture = await start();
    const bus = await fixture.join();
    let taken = 0;
    await bus.consumeHeartbeats(() => {
      taken += 1;
      return handler();
    });
    const answer = bus.sendHeartbeat(aHeartbeat(newLocation()));
    // Timers in this process: a stall delays both, and the second one leaves time for the answer.
    const overdue = delay(ANSWER_MS).then(() => delay(500, "overdue"));
    expect(await Promise.race([answer, overdue])).toBeNull();
    await until(() => expect(taken).toBe(1));
  });
});

describe.each(ADAPTERS)("a request for credentials on the $name bus", ({ start }) => {
  const request = (result_id: string) => ({ location_id: "here", run_id: "run", result_id });

  it("is answered by one consumer, to its sender", async () => {
    await using fixture = await start();
    const [hub, agent, other] = await Promise.all([1, 2, 3].map(() => fixture.join()));
    const asked: string[] = [];
    for (let hubs = 0; hubs < 2; hubs += 1)
      await hub?.consumeCredentialsRequests(async ({ result_id, run_id }, answer) => {
        asked.push(result_id);
        answer({ unable: `${run_id} ${result_id}` });
      });
    // A stall may take longer than an asker waits.
    let round = 0;
    const { ids, answers } = await until(async () => {
      round += 1;
      const ids = [`a${round}`, `b${round}`] as const;
      const answers = await Promise.all([
        agent?.requestCredentials(request(ids[0])),
        other?.requestCredentials(request(ids[1])),
      ]);
      expect(answers).not.toContain(null);
      return { ids, answers };
    });
    expect(answers).toEqual(ids.map((id) => ({ unable: `run ${id}` })));
    expect(asked).toEqual(expect.arrayContaining([...ids]));
    expect(asked).toHaveLength(new Set(asked).size);
  });

  it("gets no answer without a consumer, or from one that fails", async () => {
    await using fixture = await start();
    const [hub, agent] = [await fixture.join(), await fixture.join()];
    expect(await agent.requestCredentials(request("a"))).toBeNull();
    let taken = 0;
    await hub.consumeCredentialsRequests(async () => {
      taken += 1;
      throw new Error("no database");
    });
    await until(async () => {
      expect(await agent.requestCredentials(request("a"))).toBeNull();
      expect(taken).toBeGreaterThan(0);
    });
  });
});

describe.each(ADAPTERS)("the $name bus", ({ start }) => {
  it("is connected until it is closed, and then rejects what is published", async () => {
    await using fixture = await start();
    const bus = await fixture.join();
    expect(bus.status()).toMatchObject({ connected: true });
    await bus.close();
    expect(bus.status()).toMatchObject({ connected: false });
    await expect(bus.publishTicks([aTick({ location_id: newLocation() })])).rejects.toMatchObject({
      code: "unavailable",
    });
  });

  it("publishes no message for an empty batch", async () => {
    await using fixture = await start();
    const bus = await fixture.join();
    const location_id = newLocation();
    const [tick, report] = [aTick({ location_id }), aRunReport(location_id)];
    const [ticks, reports] = [recorder<readonly Tick[]>(), recorder<readonly RunReport[]>()];
    await bus.consumeTicks(location_id, ticks.handler);
    await bus.consumeReports(reports.handler);
    await bus.publishTicks([]);
    await bus.publishReports([]);
    await bus.publishTicks([tick]);
    await bus.publishReports([report]);
    await until(() => {
      expect(ticks.taken).toEqual([[tick]]);
      expect(reports.taken).toEqual([[report]]);
    });
    expect(fixture.dropped).toEqual([]);
  });

  it("waits for running handlers when it closes", async () => {
    await using fixture = await start();
    const bus = await fixture.join();
    const location_id = newLocation();
    const release = Promise.withResolvers<void>();
    let [begun, ended] = [false, false];
    await bus.consumeTicks(location_id, async () => {
      begun = true;
      await release.promise;
      ended = true;
    });
    await bus.publishTicks([aTick({ location_id })]);
    await until(() => expect(begun).toBe(true));
    const closing = bus.close();
    release.resolve();
    await closing;
    expect(ended).toBe(true);
  });
});
