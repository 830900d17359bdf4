// Server-sent events, on both databases: who receives which, and that nothing is lost in between.
// @module-tag slow
import { describe, expect, it } from "vitest";
import { createEvents } from "../../src/api/events.ts";
import { unavailable } from "../../src/model/errors.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import type { ApiKey } from "../../src/store/records.ts";
import type { Store } from "../../src/store/store.ts";
import { createCall, create, startApi } from "../support/api.ts";
import type { Caller, TestApi } from "../support/api.ts";
import { listen } from "../support/event-source.ts";
import type { EventListener } from "../support/event-source.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { aReport, aRun, aWorkflowReport } from "../support/runs.ts";
import type { Outcome } from "../support/runs.ts";
import { storeKinds } from "../support/stores.ts";
import { undisturbed } from "../support/undisturbed.ts";

/** Starts the API on a port of its own, with a listener. */
async function startListening(options: Parameters<typeof startApi>[0] = {}) {
  const api = await startApi(options);
  await api.api.start();
  const url = `${api.api.address()}/api/2/events/`;
  return {
    ...api,
    url,
    hear: ({ key }: Caller = api.ann, lastId?: string): Promise<EventListener> =>
      listen(url, {
        authorization: `Bearer ${key}`,
        ...(lastId !== undefined && { "last-event-id": lastId }),
      }),
  };
}

async function record(
  { store }: Pick<TestApi, "store">,
  target_ids: readonly string[],
  outcome: Outcome = {},
): Promise<string[]> {
  const due_time = systemClock.now();
  const runs = target_ids.map((target_id) => aRun({ target_id, due_time }));
  await store.pendingRuns.insert(runs);
  await store.results.record(runs.map((run) => aReport(run, outcome)));
  return runs.map(({ result_id }) => result_id);
}

const idsIn = ({ events }: EventListener): unknown[] => events.map(({ data }) => data["result_id"]);

describe.each(storeKinds)("events on %s", (storeKind) => {
  it("report a run's outcome as soon as it is recorded", async () => {
    await using api = await startListening({ storeKind });
    const { id } = await createCall(api);
    await using ann = await api.hear();
    const [result_id] = await record(api, [id], { result: "HTTP_SERVER_ERROR" });
    const [event] = await ann.until(1);
    expect(event).toMatchObject({
      event: "result",
      data: {
        result_id,
        call_id: id,
        workflow_id: null,
        workflow_result_id: null,
        location_id: "local",
        deployment_id: "deployment",
        result: "HTTP_SERVER_ERROR",
        result_category: "FAIL",
        time: expect.stringMatching(/^\d{4}-.*Z$/),
        latency: 120,
        is_late: false,
      },
    });
  });

  it("reach those who may read the call's results, and no one else", async () => {
    await using api = await startListening({ storeKind });
    const [bob, colleague, own] = [
      await api.caller("bob"),
      await api.caller("eve", "shop"),
      await api.caller("ann", "shop"),
    ];
    const hidden = await createCall(api);
    const open = await createCall(api, { access: { settings: false, results: true } });
    const settingsOnly = await createCall(api, { access: { settings: true, results: false } });
    const ofOrg = await createCall(api, { access: { org: true } }, own);
    const calls = [hidden, settingsOnly, ofOrg, open].map(({ id }) => id);
    await using heardByAnn = await api.hear();
    await using heardByBob = await api.hear(bob);
    await using heardByColleague = await api.hear(colleague);
    const [a, b, c, d] = await record(api, calls);
    await heardByAnn.until(3);
    expect(idsIn(heardByAnn)).toEqual([a, b, d]);
    await heardByColleague.until(2);
    expect(idsIn(heardByColleague)).toEqual([c, d]);
    await heardByBob.until(1);
    expect(idsIn(heardByBob)).toEqual([d]);
    for (const [listener, id] of [
      [api.ann, ofOrg.id],
      [bob, settingsOnly.id],
    ] as const) {
      const answer = await api.send({ path: `/calls/${id}/results/`, as: listener });
      expect(answer.status, "the list of results decides alike").toBe(404);
    }
  });

  it("report a workflow's run to those who may read the workflow", async () => {
    await using api = await startListening({ storeKind });
    const bob = await api.caller("bob");
    const call = await createCall(api);
    const workflow = await create(api, "/workflows/", {
      meta: { name: "w" },
      workflow: { call_ids: [call.id] },
      access: { public: true },
    });
    await using heard = await api.hear(bob);
    const run = aRun({
      target_id: workflow.id,
      target_kind: "workflow",
      call_ids: [call.id],
      due_time: systemClock.now(),
    });
    await api.store.pendingRuns.insert([run]);
    await api.store.results.record([aWorkflowReport(run)]);
    expect(await heard.until(1)).toMatchObject([
      { event: "workflow_result", data: { workflow_id: workflow.id, call_id: null } },
    ]);
  });

  it("resume exactly where a listener was cut off, even within a batch", async () => {
    await using api = await startListening({ storeKind });
    const { id } = await createCall(api);
    const first = await (async () => {
      await using ann = await api.hear();
      const ids = await record(api, [id, id, id]);
      await ann.until(3);
      return { ids, lastIds: ann.events.map((event) => event.id) };
    })();
    const missed = [await record(api, [id]), await record(api, [id])].flat();
    await using again = await api.hear(api.ann, first.lastIds[1]);
    await again.until(3);
    expect(idsIn(again)).toEqual([first.ids[2], ...missed]);
    const byQuery = await listen(`${api.url}?last_event_id=${first.lastIds[2]}`, {
      authorization: `Bearer ${api.ann.key}`,
    });
    await using _ = byQuery;
    await byQuery.until(2);
    expect(idsIn(byQuery)).toEqual(missed);
    const later = await record(api, [id]);
    await again.until(4);
    expect(idsIn(again).slice(3)).toEqual(later);
  });

  it("resume from before the first one", async () => {
    await using api = await startListening({ storeKind });
    const { id } = await createCall(api);
    const lastId = await (async () => {
      await using ann = await api.hear();
      return ann.lastId();
    })();
    const ids = await record(api, [id]);
    await using again = await api.hear(api.ann, lastId);
    await again.until(1);
    expect(idsIn(again)).toEqual(ids);
  });

  it("report a gap after an id that is gone or was never issued", async () => {
    await using api = await startListening({ storeKind });
    const { id } = await createCall(api);
    const lastId = await (async () => {
      await using ann = await api.hear();
      await record(api, [id]);
      await ann.until(1);
      return ann.lastId();
    })();
    await record(api, [id]);
    // On PostgreSQL, it is kept until transactions of other tests have ended.
    const kept = async () => {
      await api.store.recorded.prune(0);
      return api.store.recorded.find(Number(lastId.split("-")[0]));
    };
    await expect.poll(kept, { timeout: 100_000 }).toBeUndefined();
    for (const unknown of [lastId, "999999-1", "nonsense"]) {
      await using again = await api.hear(api.ann, unknown);
      expect(await again.until(1)).toMatchObject([{ event: "gap" }]);
      const next = await record(api, [id]);
      await again.until(2);
      expect(idsIn(again).slice(1)).toEqual(next);
    }
  }, 120_000);

  it("arrive complete and in order, even when no longer in memory", async () => {
    await using api = await startListening({ storeKind });
    const { id } = await createCall(api);
    await using ahead = await api.hear();
    await record(api, [id]);
    const lastId = (await ahead.until(1))[0]?.id;
    const ids: string[] = [];
    for (let batch = 0; batch < 12; batch += 1)
      ids.push(
        ...(await record(
          api,
          Array.from({ length: 500 }, () => id),
        )),
      );
    await ahead.until(1 + ids.length);
    await using again = await api.hear(api.ann, lastId);
    await again.until(ids.length);
    expect(idsIn(again)).toEqual(ids);
  });
});

/** Serves two streams of an owner at a time. */
const eventsOver = (store: Store) =>
  createEvents({
    store,
    clock: createManualClock(systemClock.now()),
    log: createLogger("silent"),
    maxEventStreams: 4,
    sessionIdleMs: 60_000,
  });

// The same on every store.
describe.runIf(storeKinds.includes("sqlite"))("an event stream", () => {
  it("sends comments while idle, and ends when its key is revoked", async () => {
    const clock = createManualClock(systemClock.now());
    await using api = await startListening({ clock });
    const bob = await api.caller("bob");
    await using heard = await api.hear(bob);
    await expect.poll(() => clock.waiting().length).toBeGreaterThan(0);
    await expect
      .poll(async () => {
        await clock.advance(15_000);
        return heard.lines.filter((line) => line.startsWith(": ")).length;
      })
      .toBeGreaterThan(0);
    await api.store.apiKeys.revoke(bob.key_id, null, clock.now());
    await expect
      .poll(async () => {
        await clock.advance(15_000);
        return Promise.race([heard.ended, Promise.resolve("open")]);
      })
      .toBe("ended");
  });

  it("ends within a minute after its key is revoked, however late events arrive", async () => {
    const clock = createManualClock(systemClock.now());
    await using api = await startListening({ clock });
    const { id } = await createCall(api);
    await using heard = await api.hear();
    await api.store.apiKeys.revoke(api.ann.key_id, null, clock.now());
    const waits = (ms: number) => clock.waiting().includes(clock.now() + ms);
    for (const ms of [15_000, 15_000, 14_000]) {
      await expect.poll(() => waits(15_000)).toBe(true);
      await clock.advance(ms);
    }
    await record(api, [id]);
    await expect.poll(() => waits(500)).toBe(true);
    await clock.advance(500);
    await heard.until(1);
    await expect.poll(() => waits(15_000)).toBe(true);
    await clock.advance(15_000);
    await expect.poll(() => Promise.race([heard.ended, Promise.resolve("open")])).toBe("ended");
  });

  it("follows a change of sharing with the next results that it reads", async () => {
    const clock = createManualClock(systemClock.now());
    await using api = await startListening({ clock });
    const closing = await createCall(api, { access: { results: true } });
    const opening = await createCall(api, { access: { results: false } });
    await using heard = await api.hear(await api.caller("bob"));
    const next = async () => {
      const ids = await record(api, [closing.id, opening.id]);
      await expect.poll(() => clock.waiting()).toContain(clock.now() + 500);
      await clock.advance(500);
      return ids;
    };
    const [shared] = await next();
    await heard.until(1);
    for (const [{ id }, results] of [
      [closing, false],
      [opening, true],
    ] as const)
      await api.send({ method: "PUT", path: `/calls/${id}/`, body: { access: { results } } });
    const [, sharedSince] = await next();
    await heard.until(2);
    expect(idsIn(heard)).toEqual([shared, sharedSince]);
  });

  it("has the store read only while someone listens", async () => {
    const clock = createManualClock(systemClock.now());
    await using api = await startListening({ clock });
    for (let listener = 0; listener < 2; listener += 1) {
      await using _ = await api.hear();
      await expect.poll(() => clock.waiting()).toContain(clock.now() + 500);
    }
    await expect.poll(() => clock.waiting()).toEqual([]);
  });

  it("frees its place when the store cannot be read", async () => {
    await using api = await startApi();
    const { recorded } = api.store;
    const last = () => (outage ? Promise.reject(outage) : recorded.last());
    const events = eventsOver({ ...api.store, recorded: { ...recorded, last } });
    const ann = (await api.store.apiKeys.find(api.ann.key_id)) as ApiKey;
    let outage: Error | undefined = unavailable("no connection");
    const refused = await Promise.allSettled([events.listen(ann), events.listen(ann)]);
    expect(refused).toEqual([outage, outage].map((reason) => ({ status: "rejected", reason })));
    outage = undefined;
    for (const { stop } of [await events.listen(ann), await events.listen(ann)]) stop();
  });

  it("does not keep its session open, and ends with it", async () => {
    const clock = createManualClock(systemClock.now());
    const sessionIdleMs = 300_000;
    await using api = await startListening({ clock, config: { sessionIdleMs } });
    const opened = await api.send({ method: "POST", path: "/session/" });
    const [cookie = ""] = String(opened.headers["set-cookie"]).split(";");
    await clock.advance(120_000);
    await using heard = await listen(api.url, { cookie });
    await expect
      .poll(async () => {
        await clock.advance(15_000);
        return Promise.race([heard.ended, Promise.resolve("open")]);
      })
      .toBe("ended");
    await expect(listen(api.url, { cookie })).rejects.toThrow("401");
  });

  it("ends at once when the API stops", async () => {
    const took = await undisturbed(
      async () => {
        await using api = await startListening();
        await using heard = await api.hear();
        const began = performance.now();
        await api.api.stop();
        await heard.ended;
        return performance.now() - began;
      },
      // It takes a while to open a store.
      { toleratedMs: 500 },
    );
    expect(took).toBeLessThan(2000);
  });

  it("is refused beyond the limit per key", async () => {
    await using api = await startListening();
    await using stack = new AsyncDisposableStack();
    for (let n = 0; n < 20; n += 1) stack.use(await api.hear());
    await expect(api.hear()).rejects.toThrow(
      '429 {"error_msg":"20 event streams of this key are open, the maximum for a key',
    );
  });

  it("is refused beyond the limits per owner and per process, until another ends", async () => {
    await using api = await startListening({ config: { maxEventStreams: 3 } });
    const [other, bob, inShop] = [
      await api.caller("ann"),
      await api.caller("bob"),
      await api.caller("ann", "shop"),
    ];
    await using stack = new AsyncDisposableStack();
    stack.use(await api.hear());
    stack.use(await api.hear(other));
    await expect(api.hear(other)).rejects.toThrow(
      '429 {"error_msg":"2 event streams of this owner are open, half of SONDE_MAX_EVENT_STREAMS',
    );
    const ofBob = await api.hear(bob);
    await expect(api.hear(inShop)).rejects.toThrow("(SONDE_MAX_EVENT_STREAMS)");
    await ofBob[Symbol.asyncDispose]();
    await expect.poll(() => api.hear(inShop).then((each) => stack.use(each))).toBeDefined();
  });

  it("needs a key", async () => {
    await using api = await startListening();
    await expect(listen(api.url, {})).rejects.toThrow("401");
  });
});
