import { describe, expect, it } from "vitest";
import { sql } from "kysely";
import { periodEnd } from "../../src/model/periods.ts";
import type { Actor } from "../../src/model/access.ts";
import type { NewDocument } from "../../src/store/records.ts";
import { readableIds } from "../../src/store/insights/insight-lists.ts";
import { storeInsight, WEEK, WEEK_MS } from "../support/insights.ts";
import { aCall } from "../support/runs.ts";
import { connect, planOf, sharedStore, storeKinds } from "../support/stores.ts";

const ANN = { owner: "ann", org: "shop" };
const BOB = { owner: "bob", org: "shop" };
const EVE = { owner: "eve", org: null };
const ALL = { after: 0, limit: 100, kind: undefined };

describe.each(storeKinds)("lists of insights in %s", (kind) => {
  const { database, store } = sharedStore(kind);

  const call = async (of: Actor, shared: { org?: boolean; stats?: boolean } = {}) => {
    const document = { ...aCall(), owner: of.owner, owner_org: of.org, org: shared.org ?? false };
    const sharing = { access: { ...accessOf(document), stats: shared.stats ?? false } };
    const stored = { ...document, document: { ...(document.document as object), ...sharing } };
    await store.documents.insert(stored);
    return stored;
  };
  const accessOf = ({ document }: NewDocument) => (document as { access: object }).access;
  const shown = async (reader: Actor) =>
    (await store.insights.list(reader, ALL)).map(({ call_id }) => call_id);

  it("show own reports, and those shared with the organization or everyone", async () => {
    const own = await call(ANN, { org: true, stats: true });
    const unshared = await call(BOB);
    const inOrg = await call(BOB, { org: true });
    const open = await call(EVE, { stats: true });
    const elsewhere = await call({ owner: "ann", org: null });
    const calls = [open, inOrg, unshared, own, elsewhere];
    for (const { id, owner, owner_org } of calls)
      await storeInsight(store, { call_id: id, of: { owner, org: owner_org } });
    expect(await shown(ANN)).toEqual([open.id, inOrg.id, own.id]);
    expect(await shown({ owner: "ann", org: null })).toEqual([open.id, own.id, elsewhere.id]);
    expect(await shown({ owner: "zoe", org: "other" })).toEqual([open.id, own.id]);
    expect(await shown({ owner: "zoe", org: "shop" })).toEqual([open.id, inOrg.id, own.id]);
    const first = await store.insights.list(ANN, { ...ALL, limit: 1 });
    const rest = await store.insights.list(ANN, { ...ALL, after: first[0]?.number ?? 0 });
    expect(rest.map(({ call_id }) => call_id)).toEqual([inOrg.id, own.id]);

    await store.documents.replace({ ...inOrg, org: false });
    await store.documents.remove("call", open.id);
    expect(await shown(ANN)).toEqual([own.id]);
    await storeInsight(store, { call_id: open.id, of: EVE });
    await storeInsight(store, { call_id: inOrg.id, of: BOB });
    expect(await shown(ANN)).toEqual([own.id]);
    for (const { id } of calls) await store.documents.remove("call", id);
  });

  it("rank an owner's reports within a period, with equal scores sharing a place", async () => {
    const of = { owner: "rob", org: null };
    const given = [
      { passed: 100 },
      { passed: 90, failed: 10 },
      { passed: 100 },
      { passed: 80, failed: 20 },
      { passed: 23 },
      { passed: 0, failed: 30 },
    ];
    for (const one of given) {
      const { id } = await call(of);
      await storeInsight(store, { call_id: id, of, ...one });
      // Reports that do not belong: of another kind, another period, another owner.
      await storeInsight(store, { call_id: id, of, kind: "MONTH", start: WEEK });
      await storeInsight(store, { call_id: id, of, start: WEEK + WEEK_MS });
    }
    const sameName = { owner: "rob", org: "shop" };
    await storeInsight(store, { call_id: (await call(sameName)).id, of: sameName });
    const listed = await store.insights.list(of, { ...ALL, kind: "WEEK" });
    const ranks = listed.filter(({ start }) => start === WEEK).map(({ rank }) => rank);
    expect(ranks).toEqual([1, 3, 1, 4, -1, 5]);
    const one = listed[2]!;
    expect((await store.insights.get(one))?.rank).toBe(3);
    const ofCall = await store.insights.listOfCall(one.call_id, ALL);
    expect(ofCall.map(({ kind: each }) => each)).toEqual(["WEEK", "MONTH", "WEEK"]);
    expect((await store.insights.latest({ call_id: one.call_id, kind: "WEEK" }))?.start).toBe(
      periodEnd("WEEK", WEEK),
    );
    const own = await store.insights.periodScores(of, "WEEK", WEEK, "own");
    expect(own.map(({ number }) => number)).toEqual(
      expect.arrayContaining(
        listed.filter(({ start }) => start === WEEK).map(({ number }) => number),
      ),
    );
    expect(own).toHaveLength(6);
  });

  it("are read by index, among many reports of others", async () => {
    const raw = connect(database);
    await sql`
      insert into insights (report_type, start, call, owner, owner_org, shared_org,
        shared_community, made, passed, outliers, score, pass_percent, outlier_percent,
        mean_test_length, sd_test_length, details)
      with recursive n (n) as (select 1000 union all select n + 1 from n where n < 4000)
      select 1, 0, n, 'owner' || n % 50, 'org' || n % 10, case when n % 100 = 0 then 1 else 0 end,
        case when n % 500 = 0 then 1 else 0 end, 30, 30, 0, n % 999, 1, 1, 1, 1, '' from n`.execute(
      raw.kysely,
    );
    await (kind === "postgres" ? sql`analyze` : sql`pragma optimize`).execute(raw.kysely);
    for (const reader of [BOB, { owner: "owner7", org: "org7" }, EVE])
      for (const ofKind of [undefined, "WEEK"] as const) {
        const page = { after: 0, limit: 10, kind: ofKind };
        const plan = await planOf(raw, readableIds(raw, reader, page));
        expect(plan).toMatch(/insights_owner/);
        expect(plan).not.toMatch(/Seq Scan on insights|SCAN insights\b(?! USING)|insights_pkey/);
        expect(plan).not.toMatch(/INTEGER PRIMARY KEY/);
      }
    await raw.kysely.destroy();
  });
});
