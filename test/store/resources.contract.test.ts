import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Actor, Principal } from "../../src/model/access.ts";
import type { ResourceKind } from "../../src/model/resource.ts";
import type { Filters, NewDocument, Page, PendingRun } from "../../src/store/records.ts";
import { listQuery, sizesQuery } from "../../src/store/documents/document-lists.ts";
import type { Database } from "../../src/store/database.ts";
import { migrate } from "../../src/store/migrate.ts";
import { newId } from "../../src/runtime/ids.ts";
import { MINUTE_MS } from "../../src/model/slots.ts";
import { aCall, aSchedule, T0 } from "../support/runs.ts";
import { connect, createTestDatabase, planOf, sharedStore, storeKinds } from "../support/stores.ts";

const ann: Principal = {
  key_id: "k",
  owner: "ann",
  org: "acme",
  access_level: "EDITOR",
};
const bob: Principal = { ...ann, owner: "bob" };
const eve: Principal = { ...ann, owner: "eve", org: null };
const ALL = { after: "", limit: 1000 };

/** Returns the nth of many documents, which shares its filter values with others. */
function aDocument(kind: ResourceKind, n: number): NewDocument {
  const key = String(n % 100);
  return {
    ...aCall({ owner: `owner${n % 50}`, owner_org: n % 3 === 0 ? null : `org${n % 20}` }),
    kind,
    filters: {
      domain: key,
      auth_id: key,
      token_id: key,
      target_id: key,
      ...(kind === "variable" && { workspace: key, name: String(n) }),
    },
    ...(kind === "workflow" && { callIds: [key, `other${n}`] }),
  };
}

describe.each(storeKinds)("resources on %s", (kind) => {
  const { database, store } = sharedStore(kind);

  it("returns a document as it was stored, odd characters included", async () => {
    const call = aCall({ url: "https://target.test/?q=%00&x='\"\\" });
    const document = {
      ...(call.document as object),
      odd: "\u{1F600} \u2028 ' \" \\ é\ud800".toWellFormed(),
    };
    await store.documents.insert({ ...call, document });
    const { filters: _filters, ...stored } = { ...call, document };
    expect(await store.documents.get("call", call.id)).toEqual(stored);
    expect(await store.documents.get("deployment", call.id)).toBeUndefined();
    await store.documents.remove("call", call.id);
    expect(await store.documents.get("call", call.id)).toBeUndefined();
  });

  it("lists the documents that a reader may see, each once, in creation order, page by page", async () => {
    const calls = [
      aCall({ owner: "ann", owner_org: "acme" }),
      aCall({ owner: "bob", owner_org: "acme", org: true, community: true }),
      aCall({ owner: "ann", owner_org: "acme", org: true }),
      aCall({ owner: "eve", community: true }),
      aCall({ owner: "eve" }),
      aCall({ owner: "bob", owner_org: "acme", community: true }),
      aCall({ owner: "ann", owner_org: "other", org: true }),
      aCall({ owner: "ann", org: true }),
      aCall({ owner: "ann", owner_org: "other", community: true }),
    ];
    for (const call of calls.toReversed()) await store.documents.insert(call);
    const seen = async (reader: Principal) => {
      const listed = await store.documents.list("call", reader, {}, ALL);
      return listed.map(({ id }) => calls.findIndex((call) => call.id === id));
    };
    expect(await seen(ann)).toEqual([0, 1, 2, 3, 5, 8]);
    expect(await seen(bob)).toEqual([1, 2, 3, 5, 8]);
    expect(await seen(eve)).toEqual([1, 3, 4, 5, 8]);
    expect(await seen({ ...ann, org: "other" })).toEqual([1, 3, 5, 6, 8]);
    expect(await seen({ ...ann, org: null })).toEqual([1, 3, 5, 7, 8]);

    const first = await store.documents.list("call", ann, {}, { after: "", limit: 2 });
    const second = await store.documents.list("call", ann, {}, { after: first[1]!.id, limit: 2 });
    expect([...first, ...second].map(({ id }) => id)).toEqual(
      [0, 1, 2, 3].map((n) => calls[n]!.id),
    );
    const byDomain = await store.documents.list("call", ann, { domain: "target.test" }, ALL);
    expect(byDomain.map(({ id }) => id)).toEqual([0, 1, 2, 3, 5, 8].map((n) => calls[n]!.id));
    expect(await store.documents.list("call", ann, { domain: "other.test" }, ALL)).toEqual([]);
  });

  it("counts how many documents of a page fit into a size", async () => {
    const size = 1000;
    const large = (owner: string, community = false): NewDocument => ({
      ...aCall({ owner, owner_org: "sizes", community }),
      kind: "report",
      document: "é".repeat((size - 2) / 2), // the quotes of its JSON take two bytes
    });
    const documents = [large("carl"), large("dora", true), large("carl"), large("carl")];
    for (const each of documents) await store.documents.insert(each);
    const carl = { owner: "carl", org: null };
    const fitting = (reader: Actor | null, bytes: number, page: Page = ALL) =>
      store.documents.fitting("report", reader, page, bytes);
    expect(await fitting({ ...carl, org: "sizes" }, 3 * size)).toBe(3);
    expect(await fitting({ ...carl, org: "sizes" }, 3 * size - 1)).toBe(2);
    expect(await fitting(carl, 3 * size)).toBe(1); // only what is shared with everyone
    expect(await fitting(null, Infinity)).toBe(4);
    expect(await fitting(null, Infinity, { after: documents[1]!.id, limit: 1 })).toBe(1);
    expect(await fitting(null, 1)).toBe(1);
  });

  it("lists the workspaces of a reader in the order of their oldest variable, page by page", async () => {
    const variable = (workspace: string, name: string, owned: object): NewDocument => ({
      ...aCall({ owner: "ann", owner_org: "acme", ...owned }),
      kind: "variable",
      org: true,
      filters: { workspace, name },
    });
    const variables = [
      variable("z", "a", {}),
      variable("a", "a", { owner: "bob" }),
      variable("z", "b", {}),
      variable("own", "a", { owner_org: null }),
    ];
    for (const each of variables) await store.documents.insert(each);
    const [z, a, , own] = variables as [NewDocument, NewDocument, NewDocument, NewDocument];
    const ofOrg = [
      { id: z.id, key: "z", variables: 2 },
      { id: a.id, key: "a", variables: 1 },
    ];
    const { listWorkspaces } = store.documents;
    expect(await listWorkspaces(ann, ALL)).toEqual(ofOrg);
    expect(await listWorkspaces(bob, { after: z.id, limit: 1 })).toEqual([ofOrg[1]]);
    expect(await listWorkspaces({ owner: "ann", org: null }, ALL)).toEqual([
      { id: own.id, key: "own", variables: 1 },
    ]);
    expect(await listWorkspaces(eve, ALL)).toEqual([]);
    for (const { id } of variables) await store.documents.remove("variable", id);
  });

  describe("among many documents of other owners", () => {
    let raw: Database;
    beforeAll(async () => {
      raw = connect(database);
      await store.transaction(async ({ documents }) => {
        for (const ofKind of ["call", "token", "deployment", "workflow", "variable"] as const)
          for (let n = 0; n < 500; n += 1) await documents.insert(aDocument(ofKind, n));
      });
      await (kind === "postgres" ? sql`analyze` : sql`pragma optimize`).execute(raw.kysely);
    });
    afterAll(() => raw.kysely.destroy());

    it.each<[string, ResourceKind, Filters]>([
      ["a whole list", "call", {}],
      ["the calls of a domain", "call", { domain: "7" }],
      ["the calls of a setting", "call", { auth_id: "7" }],
      ["the calls of a token", "call", { token_id: "7" }],
      ["the tokens of a setting", "token", { auth_id: "7" }],
      ["the deployments of a target", "deployment", { target_id: "7" }],
      ["the workflows of a call", "workflow", { call_id: "7" }],
      ["the variables of a workspace", "variable", { workspace: "7" }],
      ["a variable", "variable", { workspace: "7", name: "7" }],
    ])("reads %s by an index", async (_, ofKind, filters) => {
      const page = { after: "", limit: 10 };
      const listed: unknown[] = [];
      for (const reader of [
        { owner: "owner7", org: "org7" },
        { owner: "owner7", org: null },
      ]) {
        for (const query of [listQuery, sizesQuery]) {
          const plan = await planOf(raw, query(raw, ofKind, reader, filters, page));
          expect(plan).toMatch(/documents_\w+|sqlite_autoindex_documents/);
          expect(plan).not.toMatch(/Seq Scan|SCAN document\w*(?! USING)\b/);
        }
        listed.push(...(await store.documents.list(ofKind, reader, filters, page)));
      }
      expect(listed.length).toBeGreaterThan(0);
    });
  });

  it("finds a document by each call that it currently names", async () => {
    const workflow = { ...aCall(), kind: "workflow", callIds: [] } as const;
    const [one, other] = [newId(T0), newId(T0)];
    const idsOf = async (ofKind: ResourceKind, call_id: string): Promise<string[]> => {
      const ids: string[] = [];
      for await (const id of store.documents.ids(ofKind, { call_id })) ids.push(id);
      return ids;
    };
    const found = async (callId: string): Promise<string[]> => {
      const ids = await idsOf("workflow", callId);
      const count = (owner: string) =>
        store.documents.count("workflow", { call_id: callId }, { owner, org: workflow.owner_org });
      expect([await count(workflow.owner), await count("stranger")]).toEqual([ids.length, 0]);
      expect(await idsOf("report", callId)).toEqual([]);
      return ids;
    };
    await store.documents.insert({ ...workflow, callIds: [one, other, one] });
    expect([await found(one), await found(other)]).toEqual([[workflow.id], [workflow.id]]);
    await store.documents.replace({ ...workflow, callIds: [other] });
    expect([await found(one), await found(other)]).toEqual([[], [workflow.id]]);
    await store.documents.remove("workflow", workflow.id);
    expect(await found(other)).toEqual([]);
  });

  it("finds every document of a kind with a filter value, also while they are removed", async () => {
    const target = { target_id: newId(T0) };
    const inserted: string[] = [];
    await store.transaction(async ({ documents }) => {
      for (let n = 0; n < 1001; n += 1) {
        const deployment = { ...aCall(), kind: "deployment", filters: target } as const;
        await documents.insert(deployment);
        inserted.push(deployment.id);
      }
    });
    const found: string[] = [];
    for await (const id of store.documents.ids("deployment", target)) {
      found.push(id);
      await store.documents.remove("deployment", id);
    }
    expect(found).toEqual(inserted.toSorted());
  });

  it("accepts a name once in a workspace, and an id once", async () => {
    const workspace = newId(T0);
    const named = (name: string) => ({
      ...aCall(),
      filters: { workspace, name },
    });
    const first = named("a");
    expect(await store.documents.insert(first)).toBe(true);
    expect(await store.documents.insert(named("a"))).toBe(false);
    expect(await store.documents.insert(named("b"))).toBe(true);
    expect(await store.documents.insert({ ...named("c"), id: first.id })).toBe(false);
  });

  it("queues concurrent changes of one document", async () => {
    const call = aCall();
    await store.documents.insert(call);
    // A SQLite file belongs to one process, with one connection.
    const stores = [store, kind === "sqlite" ? store : await database.open()];
    const field = (n: number) =>
      stores[n % 2]!.transaction(async (inner) => {
        const { document } = (await inner.documents.getForUpdate("call", call.id))!;
        await inner.documents.replace({
          ...call,
          document: { ...(document as object), [`field${n}`]: n },
        });
      });
    await Promise.all(Array.from({ length: 8 }, (_, n) => field(n)));
    const fields = Object.keys((await store.documents.get("call", call.id))!.document as object);
    expect(fields.filter((name) => name.startsWith("field"))).toHaveLength(8);
  });

  const runsOf = async (slot: number): Promise<PendingRun[]> => {
    const runs: PendingRun[] = [];
    const opening = { slot, late: true, opened: Number.MAX_SAFE_INTEGER };
    await store.slots.add([opening]);
    for (;;) {
      const page = await store.slots.nextPage(opening, 2);
      if (!page) return runs;
      runs.push(...(await store.slots.listRuns(page)));
    }
  };
  const slotsOf = async (id: string, minutes: number[]): Promise<number[]> => {
    const due: number[] = [];
    for (const minute of minutes)
      if ((await runsOf(T0 + minute * MINUTE_MS)).some(({ deployment_id }) => deployment_id === id))
        due.push(minute);
    return due;
  };
  const minutes = (from: number, to: number): number[] =>
    Array.from({ length: to - from + 1 }, (_, n) => from + n);

  it("reads what is committed while a transaction runs, without waiting for it", async () => {
    const call = aCall({ owner: "ann" });
    const { promise: read, resolve: endRead } = Promise.withResolvers<void>();
    const change = store.transaction(async (inner) => {
      await inner.documents.insert(call);
      expect(await inner.documents.get("call", call.id)).toBeDefined();
      await read;
    });
    expect(await store.documents.get("call", call.id)).toBeUndefined();
    expect(await store.callOverview.latest([call.id], T0)).toEqual(new Map());
    expect(await store.recorded.last()).toBeUndefined();
    expect(await store.insights.hours({ call_id: call.id, from: 0, to: T0 })).toEqual([]);
    endRead();
    await change;
    expect(await store.documents.get("call", call.id)).toMatchObject({ id: call.id });
  });

  it("finds the schedules due in a slot, by their triggers", async () => {
    const plain = aSchedule({ frequency: 5 });
    const delayed = aSchedule({ frequency: 10, run_delay: 725 });
    await store.schedules.set(plain);
    await store.schedules.set(delayed);
    expect(await slotsOf(plain.deployment_id, minutes(-10, 12))).toEqual([0, 5, 10]);
    expect(await slotsOf(delayed.deployment_id, minutes(-10, 35))).toEqual([12, 22, 32]);
  });

  it("applies a change from its trigger on, and the previous schedule until then", async () => {
    const before = aSchedule({ frequency: 5, run_delay: 180 });
    await store.schedules.set(before);
    await store.schedules.set({
      ...before,
      frequency: 4,
      run_delay: 0,
      active_from: T0 + 12 * MINUTE_MS,
    });
    expect(await slotsOf(before.deployment_id, minutes(0, 24))).toEqual([3, 8, 12, 13, 16, 20, 24]);
    await store.schedules.set({
      ...before,
      frequency: 6,
      run_delay: 0,
      active_from: T0 + 6 * MINUTE_MS,
    });
    expect(await slotsOf(before.deployment_id, minutes(0, 20))).toEqual([3, 6, 8, 12, 18]);
    await store.schedules.remove(before.deployment_id, T0 + 7 * MINUTE_MS);
    expect(await slotsOf(before.deployment_id, minutes(0, 20))).toEqual([3, 6]);
    await store.schedules.remove(before.deployment_id, T0);
    expect(await slotsOf(before.deployment_id, minutes(0, 20))).toEqual([]);
  });

  it("gives a lease to one holder at a time, with a fence that former holders lack", async () => {
    const name = newId(T0);
    const acquire = (holder: string, now: number) =>
      store.leases.acquire(name, holder, now, 10_000);
    const first = await acquire("one", T0);
    expect(first).toMatchObject({ holder: "one", fence: 1, cursor: null });
    expect(await acquire("two", T0 + 9000)).toBeUndefined();
    expect(await acquire("one", T0 + 9000)).toMatchObject({
      fence: 1,
      expires_at: T0 + 19_000,
    });
    expect(await store.leases.advance(first!, T0)).toBe(true);
    expect(await store.leases.advance(first!, T0 + 60_000)).toBe(false);
    const second = await acquire("two", T0 + 20_000);
    expect(second).toMatchObject({ holder: "two", fence: 2, cursor: T0 });
    expect(await store.leases.advance({ ...first!, cursor: T0 }, T0 + 60_000)).toBe(false);
    expect(await store.leases.advance(second!, T0 + 60_000)).toBe(true);
  });

  it("takes over a lease that expires impossibly late, after the clock was set back", async () => {
    const name = newId(T0);
    await store.leases.acquire(name, "one", T0, 10_000);
    expect(await store.leases.acquire(name, "two", T0 - 3_600_000, 10_000)).toMatchObject({
      holder: "two",
    });
  });

  it("frees a released lease at once, but not one that another process took", async () => {
    const name = newId(T0);
    const first = await store.leases.acquire(name, "one", T0, 10_000);
    const second = await store.leases.acquire(name, "two", T0 + 10_000, 10_000);
    await store.leases.release(first!);
    expect(await store.leases.acquire(name, "one", T0 + 11_000, 10_000)).toBeUndefined();
    await store.leases.release(second!);
    expect(await store.leases.acquire(name, "one", T0 + 11_000, 10_000)).toMatchObject({
      holder: "one",
      fence: 3,
    });
  });

  it("finds a key by its hash until it is revoked", async () => {
    const key = {
      key_id: newId(T0),
      owner: "ann",
      org: null,
      access_level: "EDITOR",
      name: "Build server",
      created: T0,
      last_update: T0,
      revoked: false,
    } as const;
    await store.apiKeys.insert(key, `hash ${key.key_id}`);
    expect(await store.apiKeys.findByHash(`hash ${key.key_id}`)).toEqual(key);
    const found = await store.apiKeys.getMany([key.key_id, "none"]);
    expect(found).toEqual(new Map([[key.key_id, key]]));
    const owner = { owner: "ann", org: null };
    expect(await store.apiKeys.list(owner, ALL)).toEqual([key]);
    for (const other of [bob, { ...owner, owner: "bob" }, ann]) {
      expect(await store.apiKeys.list(other, ALL)).toEqual([]);
      expect(await store.apiKeys.revoke(key.key_id, other, T0)).toBe(false);
    }
    expect(await store.apiKeys.revoke(key.key_id, owner, T0)).toBe(true);
    expect(await store.apiKeys.findByHash(`hash ${key.key_id}`)).toBeUndefined();
    expect((await store.apiKeys.getMany([key.key_id])).get(key.key_id)?.revoked).toBe(true);
    expect(await store.apiKeys.list(null, ALL)).toEqual([]);
    expect(await store.apiKeys.count()).toBe(1);
  });

  it("finds no key that was revoked since it was last found", async () => {
    const key = {
      owner: "ann",
      org: null,
      access_level: "EDITOR",
      name: "k",
      created: T0,
    } as const;
    const [byOther, bySelf] = [newId(T0), newId(T0)];
    for (const key_id of [byOther, bySelf])
      await store.apiKeys.insert({ ...key, key_id, last_update: T0, revoked: false }, key_id);
    const find = async (within = store) => {
      const found = [byOther, bySelf].map((hash) => within.apiKeys.findByHash(hash));
      return (await Promise.all(found)).map((each) => each?.key_id);
    };
    expect(await find()).toEqual([byOther, bySelf]);
    expect(await find()).toEqual([byOther, bySelf]);

    // Another process has its own connection.
    const other = await database.open();
    expect(await other.apiKeys.revoke(byOther, null, T0)).toBe(true);
    expect(await find()).toEqual([undefined, bySelf]);

    const rolledBack = store.transaction(async (within) => {
      await within.apiKeys.revoke(bySelf, null, T0);
      expect(await find(within)).toEqual([undefined, undefined]);
      expect(await find()).toEqual([undefined, bySelf]);
      throw new Error("roll back");
    });
    await expect(rolledBack).rejects.toThrow("roll back");
    expect(await find()).toEqual([undefined, bySelf]);
    await store.transaction((within) => within.apiKeys.revoke(bySelf, null, T0));
    expect(await find()).toEqual([undefined, undefined]);
  });

  it("removes a location and its agents, but keeps its record", async () => {
    const location = { id: "gone", label: "Gone", region: "", created: T0 };
    await store.locations.insert(location);
    const agent = { agent_id: "of gone", location_id: "gone", version: "1", in_flight: 0 };
    await store.agents.record({ ...agent, sent: T0 }, { now: T0 });
    expect(await store.locations.rotateKey({ id: "gone", key_version: 1 }, T0 + 1)).toBe(true);
    expect(await store.locations.rotateKey({ id: "gone", key_version: 1 }, T0 + 1)).toBe(false);
    await store.locations.remove("gone", T0 + 2);
    const isGone = (row: { readonly id: string }) => row.id === "gone";
    expect((await store.locations.list()).filter(isGone)).toEqual([]);
    expect((await store.locations.listAll()).filter(isGone)).toEqual([
      { ...location, key_version: 2, key_changed: T0 + 1, removed: T0 + 2 },
    ]);
    const agents = await store.agents.list();
    expect(agents.filter(({ location_id }) => location_id === "gone")).toEqual([]);
    expect(await store.locations.insert(location)).toBe(false);
  });

  it("stores a location once", async () => {
    const location = { id: "paris", label: "Paris", region: "eu", created: T0 };
    expect(await store.locations.insert(location)).toBe(true);
    expect(await store.locations.insert({ ...location, label: "other" })).toBe(false);
    const kept = { ...location, key_version: 1, key_changed: null, removed: null };
    expect(await store.locations.list()).toEqual([kept]);
  });

  it("rejects a newer schema, and changes nothing", async () => {
    await using newer = await createTestDatabase(kind);
    await newer.open();
    const raw = connect(newer);
    await sql`insert into kysely_migration (name, timestamp) values ('9999-later', '2030')`.execute(
      raw.kysely,
    );
    await expect(newer.open()).rejects.toThrow(
      /^the database has schema 9999-later, but this Sonde supports schemas up to \d{4}-[a-z-]+: start a newer Sonde/,
    );
    await sql`delete from kysely_migration where name = '9999-later'`.execute(raw.kysely);
    expect(await migrate(raw)).toEqual([]);
    await raw.kysely.destroy();
  });
});
