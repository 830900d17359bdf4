import { randomBytes } from "node:crypto";
import { sql } from "kysely";
import { describe, expect, it, vi } from "vitest";
import type { ResourceKind } from "../../src/model/resource.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { newId } from "../../src/runtime/ids.ts";
import { createSealer, keyIdOf } from "../../src/runtime/sealer.ts";
import type { MasterKeys } from "../../src/runtime/sealer.ts";
import type { Database } from "../../src/store/database.ts";
import { openStore } from "../../src/store/open-store.ts";
import type { NewDocument, RotationStep } from "../../src/store/records.ts";
import type { Store } from "../../src/store/store.ts";
import { aCall, T0 } from "../support/runs.ts";
import { damageSecrets, storedText } from "../support/stored-secrets.ts";
import { connect, createTestDatabase, sharedStore, storeKinds } from "../support/stores.ts";
import type { TestDatabase } from "../support/stores.ts";

const ann = {
  key_id: "k",
  owner: "ann",
  org: null,
  access_level: "EDITOR",
} as const;
const ALL = { after: "", limit: 1000 };

/** Returns a token with only the parts that the store reads. */
const aToken = (token: Readonly<Record<string, unknown>>): NewDocument => ({
  ...aCall(),
  kind: "token",
  document: { meta: { name: "a token" }, token },
});

/**
 * Retries: a SQLite connection that waits for another one in its own thread blocks that one until
 * it gives up.
 */
const inOneThread = <T>(write: () => Promise<T>): Promise<T> =>
  vi.waitFor(write, { timeout: 40_000, interval: 10 });

async function isWaiting(raw: Database["kysely"]): Promise<boolean> {
  const { rows } = await sql`select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(raw);
  return rows.length > 0;
}

async function settleInTurn<T>(
  works: readonly (() => Promise<T>)[],
): Promise<PromiseSettledResult<T>[]> {
  const outcomes: PromiseSettledResult<T>[] = [];
  for (const work of works) outcomes.push(...(await Promise.allSettled([work()])));
  return outcomes;
}

describe.each(storeKinds)("secrets on %s", (kind) => {
  const { database, store } = sharedStore(kind);

  const inDatabase = async <T>(
    work: (raw: Database["kysely"]) => Promise<T>,
    to = database,
  ): Promise<T> => {
    await using raw = connect(to).kysely;
    return await work(raw);
  };

  it("are sealed in the database, and opened by every read", async () => {
    const token = aToken({
      access_token: "s3cret-a",
      refresh_token: null,
      password: "",
      grant_type: "password",
    });
    await store.documents.insert(token);
    const text = await storedText(database, token.id);
    expect(text).not.toContain("s3cret");
    expect(text).toContain('"grant_type":"password"');
    expect(text).toContain('"refresh_token":null');

    const { documents } = store;
    const documentsRead = [
      await documents.get("token", token.id),
      await documents.getForUpdate("token", token.id),
      (await documents.getMany("token", [token.id])).get(token.id),
      (await documents.list("token", ann, {}, ALL))[0],
      await store.transaction((within) => within.documents.get("token", token.id)),
    ];
    for (const read of documentsRead) expect(read?.document).toEqual(token.document);

    const changed = {
      ...token,
      document: { meta: {}, token: { access_token: "s3cret-b" } },
    };
    await documents.replace(changed);
    expect(await storedText(database, token.id)).not.toContain("s3cret");
    expect((await documents.get("token", token.id))?.document).toEqual(changed.document);
  });

  it("leave documents without any as they are", async () => {
    const call = aCall();
    await store.documents.insert(call);
    expect(JSON.parse(await storedText(database, call.id))).toEqual(call.document);
  });

  it.each([
    ["another row", "token", "access_token"],
    ["another field of its row", "token", "password"],
  ])("cannot be read after being moved to %s", async (where, kindOfRow, field) => {
    const [from, to] = [
      aToken({ access_token: "s3cret-a", password: "s3cret-b" }),
      aToken({ access_token: "s3cret-c", password: "s3cret-d" }),
    ];
    await store.documents.insert(from);
    await store.documents.insert(to);
    const sealed = JSON.parse(await storedText(database, from.id)) as {
      token: Record<string, string>;
    };
    const target = where === "another row" ? to : from;
    const moved = {
      ...sealed,
      token: { ...sealed.token, [field]: sealed.token["access_token"] },
    };
    await inDatabase((raw) =>
      raw
        .updateTable("documents")
        .set({ document: JSON.stringify(moved) })
        .where("id", "=", target.id)
        .execute(),
    );
    const { documents } = store;
    const read = await documents.get(kindOfRow as ResourceKind, target.id);
    expect(read?.unreadable?.message).toMatch(/was sealed for another/);
    expect(await documents.getForUpdate("token", target.id)).toEqual(read);
    await expect(documents.replace({ ...target, ...read })).rejects.toMatchObject({
      code: "unreadable",
      cause: read?.unreadable,
    });
    expect(JSON.parse(await storedText(database, target.id))).toEqual(moved);
    const others = await store.documents.getMany("token", [from.id, to.id]);
    const unreadable = [...others.values()].filter((each) => each.unreadable);
    expect(unreadable.map(({ id }) => id)).toEqual([target.id]);
    expect(JSON.stringify(unreadable)).not.toContain("s3cret");
    await store.documents.remove("token", from.id);
    await store.documents.remove("token", to.id);
  });

  describe("with more than one master key", () => {
    const [first, second, third] = [randomBytes(32), randomBytes(32), randomBytes(32)];
    const open = (to: TestDatabase, keys: MasterKeys): Promise<Store> =>
      openStore({
        location: to.location,
        clock: systemClock,
        sealer: createSealer(keys),
      });
    const use = async <T>(
      to: TestDatabase,
      keys: MasterKeys,
      work: (opened: Store) => Promise<T>,
    ): Promise<T> => {
      const opened = await open(to, keys);
      try {
        return await work(opened);
      } finally {
        await opened.close();
      }
    };

    it("rejects another master key than the database's, and changes nothing", async () => {
      await using own = await createTestDatabase(kind);
      await use(own, { current: first }, async () => undefined);
      const registered = () =>
        inDatabase((raw) => raw.selectFrom("master_keys").selectAll().execute(), own);
      const before = await registered();
      await inDatabase(
        (raw) =>
          sql`delete from kysely_migration where name > '0002-keys-audit-answers'`.execute(raw),
        own,
      );
      const [{ keyId: ours }, { keyId: theirs }] = [
        createSealer({ current: second }),
        createSealer({ current: first }),
      ];
      await expect(open(own, { current: second })).rejects.toThrow(
        `the database is encrypted with the master key ${theirs}, and this process has ${ours}: set SONDE_MASTER_KEY to the same key in every process`,
      );
      expect(await registered()).toEqual(before);
      const applied = await inDatabase(
        (raw) =>
          sql<{
            n: number;
          }>`select count(*) as n from kysely_migration`.execute(raw),
        own,
      );
      expect(Number(applied.rows[0]?.n)).toBe(2);
    });

    it("lets one of two processes with different keys start on an empty database", async () => {
      await using own = await createTestDatabase(kind);
      const keys = [first, second, third];
      await use(own, { current: first }, (opened) => Promise.resolve(opened.ping()));
      await inDatabase((raw) => raw.deleteFrom("master_keys").execute(), own);
      const starts = keys.map((current) => () => open(own, { current }));
      // The embedded database belongs to one process.
      const stores =
        kind === "postgres"
          ? await Promise.allSettled(starts.map((start) => start()))
          : await settleInTurn(starts);
      const started = stores.filter(({ status }) => status === "fulfilled");
      expect(started).toHaveLength(1);
      for (const outcome of stores)
        if (outcome.status === "fulfilled") await outcome.value.close();
        else expect(String(outcome.reason)).toContain("SONDE_MASTER_KEY");
    });

    it("rotates everything to the current key, while processes that hold both keep working", async () => {
      await using own = await createTestDatabase(kind);
      const tokens = Array.from({ length: 230 }, (_, n) => aToken({ access_token: `s3cret-${n}` }));
      const answer = { fingerprint: "f", answer: { api_key: "s3cret" } };
      await use(own, { current: first }, (opened) =>
        opened.transaction(async (within) => {
          for (const token of tokens) await within.documents.insert(token);
          await within.answers.claim("a", T0, T0);
          await within.answers.keep("a", answer);
        }),
      );
      const keys = { current: second, old: [first] };
      const serving = await open(own, keys);
      const steps: RotationStep[] = [];
      const rotation = inOneThread(() => {
        steps.length = 0;
        return use(own, keys, ({ masterKeys }) =>
          masterKeys.rotate((step) => void steps.push(step)),
        );
      });
      const added = aToken({ access_token: "s3cret-new" });
      const [changed] = tokens as [NewDocument];
      await inOneThread(() => serving.documents.insert(added));
      await inOneThread(() =>
        serving.documents.replace({
          ...changed,
          document: { token: { access_token: "s3cret-changed" } },
        }),
      );
      await rotation;
      await serving.close();
      // The first row is read again if it was changed between reading and writing.
      const ofTokens = steps.filter(({ what, checked }) => what === "token" && checked > 0);
      expect(ofTokens).toEqual([
        expect.objectContaining({ checked: 100 }),
        expect.objectContaining({ checked: 200 }),
        // The token added meanwhile is always resealed; whether it is checked is a race.
        expect.objectContaining({ checked: expect.toBeOneOf([230, 231]) }),
      ]);

      const { keyId } = createSealer({ current: second });
      for (const { id } of [...tokens, added]) {
        const document = JSON.parse(await storedText(own, id)) as {
          token: { access_token: string };
        };
        expect(keyIdOf(document.token.access_token)).toBe(keyId);
      }
      await use(own, { current: second }, async (opened) => {
        const read = await opened.documents.getMany(
          "token",
          [changed, ...tokens.slice(-1)].map(({ id }) => id),
        );
        expect([...read.values()].map(({ document }) => document)).toEqual([
          { token: { access_token: "s3cret-changed" } },
          tokens.at(-1)?.document,
        ]);
        expect(await opened.transaction(({ answers }) => answers.claim("a", T0, T0))).toEqual(
          answer,
        );
        const again: RotationStep[] = [];
        await opened.masterKeys.rotate((step) => void again.push(step));
        expect(again.every(({ resealed }) => resealed === 0)).toBe(true);
      });
      await expect(open(own, { current: first })).rejects.toThrow(
        "is encrypted with the master key",
      );
    });

    it("leaves a secret that no key opens as it is, and continues the rotation", async () => {
      await using own = await createTestDatabase(kind);
      const token = aToken({ access_token: "s3cret" });
      await use(own, { current: first }, ({ documents }) => documents.insert(token));
      const damaged = await damageSecrets(own, token.id);
      const keys = { current: second, old: [first] };
      await use(own, keys, async ({ masterKeys }) => {
        await expect(masterKeys.rotate(() => undefined)).rejects.toThrow(
          `token/${token.id}/token/access_token was changed: if you have its key, add it to SONDE_MASTER_KEYS_OLD; if not, the secret is lost: delete its object`,
        );
      });
      expect(await storedText(own, token.id)).toBe(damaged);
      await expect(open(own, { current: second })).rejects.toThrow("SONDE_MASTER_KEYS_OLD");
    });

    it("says that a kept answer that no key opens need not be deleted", async () => {
      await using own = await createTestDatabase(kind);
      const id = newId(T0);
      await use(own, { current: first }, (opened) =>
        opened.transaction(async ({ answers }) => {
          await answers.claim(id, T0, T0);
          await answers.keep(id, { fingerprint: "f", answer: {} });
        }),
      );
      await using raw = connect(own).kysely;
      const sealed = sql<string>`replace(sealed, '..', '..x')`;
      await raw.updateTable("kept_answers").set({ sealed }).execute();
      await use(own, { current: second, old: [first] }, async ({ masterKeys }) => {
        await expect(masterKeys.rotate(() => undefined)).rejects.toThrow(
          / kept_answers\/.*; if not, wait until it expires, a day after its request\. Then run this again$/,
        );
      });
    });

    it("requires the old key again once a process that has only that one writes a secret", async () => {
      await using own = await createTestDatabase(kind);
      const [document, answer] = [aToken({ access_token: "s3cret" }), newId(T0)];
      await use(own, { current: first }, async (behind) => {
        const writes = [
          () => behind.documents.insert(document),
          () => behind.documents.replace(document),
          () =>
            behind.transaction(async ({ answers }) => {
              await answers.claim(answer, T0, T0);
              await answers.keep(answer, { fingerprint: "f", answer: {} });
            }),
        ];
        for (const write of writes) {
          await use(own, { current: second, old: [first] }, ({ masterKeys }) =>
            masterKeys.rotate(() => undefined),
          );
          await use(own, { current: second }, async () => undefined);
          await write();
          await expect(open(own, { current: second })).rejects.toThrow("SONDE_MASTER_KEYS_OLD");
        }
      });
    });

    // On SQLite, the rotation would block the thread while it waits for the other process.
    it.runIf(kind === "postgres")(
      "reseals what a process that has only the old key writes meanwhile",
      async () => {
        await using own = await createTestDatabase(kind);
        await using raw = connect(own).kysely;
        const token = aToken({ access_token: "s3cret" });
        await use(own, { current: first }, (behind) =>
          use(own, { current: second, old: [first] }, async ({ masterKeys }) => {
            const { rotation } = await behind.transaction(async ({ documents }) => {
              await documents.insert(token);
              let ended = false;
              const started = masterKeys.rotate(() => undefined).then(() => (ended = true));
              await expect.poll(async () => ended || (await isWaiting(raw))).toBe(true);
              return { rotation: started };
            });
            await rotation;
          }),
        );
        await use(own, { current: second }, async ({ documents }) =>
          expect(await documents.get("token", token.id)).toMatchObject({
            document: token.document,
          }),
        );
      },
    );

    it("requires the old key until the rotation is complete", async () => {
      await using own = await createTestDatabase(kind);
      await use(own, { current: first }, async () => undefined);
      await use(own, { current: second, old: [first] }, async () => undefined);
      await expect(open(own, { current: second })).rejects.toThrow("SONDE_MASTER_KEYS_OLD");
      await expect(open(own, { current: first })).rejects.toThrow("SONDE_MASTER_KEYS_OLD");
      await use(own, { current: second, old: [first] }, ({ masterKeys }) =>
        masterKeys.rotate(() => undefined),
      );
      await use(own, { current: second }, async () => undefined);
    });
  });

  describe("in kept answers", () => {
    const answer = { fingerprint: "f", answer: { api_key: "s3cret" } };

    it("are sealed, and bound to their request", async () => {
      const [id, other] = [newId(T0), newId(T0)];
      await store.transaction(async ({ answers }) => {
        expect(await answers.claim(id, T0, T0 - 1)).toBeUndefined();
        await answers.keep(id, answer);
        await answers.claim(other, T0, T0 - 1);
        await answers.keep(other, answer);
      });
      const claim = (of: string) =>
        store.transaction(({ answers }) => answers.claim(of, T0, T0 - 1));
      expect(await claim(id)).toEqual(answer);
      await inDatabase(async (raw) => {
        const rows = await raw.selectFrom("kept_answers").selectAll().execute();
        expect(JSON.stringify(rows)).not.toContain("s3cret");
        await raw
          .updateTable("kept_answers")
          .set({ sealed: rows.find((row) => row.id === id)?.sealed ?? "" })
          .where("id", "=", other)
          .execute();
      });
      await expect(claim(other)).rejects.toThrow("was sealed for another");
      await store.answers.forget(other);
    });

    it("are rolled back with a transaction that fails", async () => {
      const id = newId(T0);
      const failing = store.transaction(async ({ answers }) => {
        await answers.claim(id, T0, T0);
        throw new Error("a fault");
      });
      await expect(failing).rejects.toThrow("a fault");
      expect(await store.transaction(({ answers }) => answers.claim(id, T0, T0))).toBeUndefined();
      await store.answers.forget(id);
    });

    it("are awaited by concurrent requests", async () => {
      const id = newId(T0);
      const carriedOut: number[] = [];
      const ask = (n: number) =>
        store.transaction(async ({ answers }) => {
          const kept = await answers.claim(id, T0, T0);
          if (kept) return kept;
          carriedOut.push(n);
          await answers.keep(id, answer);
          return answer;
        });
      const asked = await Promise.all(Array.from({ length: 8 }, (_, n) => ask(n)));
      expect(asked).toEqual(Array.from({ length: 8 }, () => answer));
      expect(carriedOut).toHaveLength(1);
    });

    it("expire, and are pruned", async () => {
      const [old, recent] = [newId(T0), newId(T0)];
      await store.transaction(async ({ answers }) => {
        for (const [id, time] of [
          [old, T0],
          [recent, T0 + 10],
        ] as const) {
          await answers.claim(id, time, time);
          await answers.keep(id, answer);
        }
        expect(await answers.claim(old, T0 + 10, T0)).toEqual(answer);
        expect(await answers.claim(old, T0 + 10, T0 + 1)).toBeUndefined();
        await answers.keep(old, answer);
      });
      await store.answers.prune(T0 + 10);
      await store.transaction(async ({ answers }) => {
        expect(await answers.claim(recent, T0 + 20, T0)).toEqual(answer);
      });
      await store.answers.prune(T0 + 11);
      await store.transaction(async ({ answers }) => {
        expect(await answers.claim(recent, T0 + 20, T0)).toBeUndefined();
      });
    });
  });

  it("keeps an audit trail, listed by time, owner and number", async () => {
    const entry = {
      actor: "key",
      owner: "ann",
      org: "acme",
      address: "192.0.2.1",
      action: "update",
      kind: "call",
      object_id: "c",
      object_owner: null,
      object_org: null,
      fields: ["meta.name", "request.headers"],
    } as const;
    const entries = [
      { ...entry, time: T0, object_owner: "bob", object_org: "acme" },
      { ...entry, time: T0 + 1, owner: "bob" },
      { ...entry, time: T0 + 1, org: null },
      {
        ...entry,
        time: T0 + 2,
        actor: "command line",
        owner: null,
        org: null,
        address: null,
      },
      { ...entry, time: T0 + 2, fields: [] },
    ];
    for (const { object_owner, object_org, ...one } of entries)
      await store.audit.record({ ...one, ...(object_owner && { object_owner, object_org }) });
    const { audit } = store;
    expect(await audit.list({ limit: 10 })).toEqual(entries);
    expect(await audit.list({ limit: 2 })).toEqual(entries.slice(3));
    expect(await audit.list({ since: T0 + 1, limit: 10 })).toEqual(entries.slice(1));
    const ofOwner = (owner: string, org: string | null) =>
      audit.list({ of: { owner, org }, limit: 10 });
    expect(await ofOwner("bob", "acme")).toEqual([entries[0], entries[1]]);
    expect(await ofOwner("ann", "acme")).toEqual([entries[0], entries[4]]);
    expect(await ofOwner("ann", null)).toEqual([entries[2]]);
  });
});
