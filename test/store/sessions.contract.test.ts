// Sessions and codes as the databases keep them.
import { describe, expect, it } from "vitest";
import { insertKey } from "../support/runs.ts";
import { createTestDatabase, storeKinds } from "../support/stores.ts";

const NOW = Date.UTC(2026, 9, 1);
const EVER = { used: 0, created: 0 };
const ANN = { owner: "ann", org: null, access_level: "EDITOR" } as const;

describe.each(storeKinds)("sessions on %s", (kind) => {
  it("are found while they last, with their key, and pruned when they have ended", async () => {
    await using database = await createTestDatabase(kind);
    const store = await database.open();
    const { sessions } = store;
    const { key_id } = await insertKey(store, NOW, ANN);
    await sessions.open("a", key_id, NOW);
    await sessions.use("a", NOW + 5);
    await sessions.use("a", NOW + 3); // overtaken by the later use
    const bounds = { used: NOW + 5, created: NOW };
    expect(await sessions.find("a", bounds)).toMatchObject({
      key: { ...ANN, key_id },
      created: NOW,
      last_used: NOW + 5,
    });
    expect(await sessions.find("b", EVER)).toBeUndefined();
    for (const ended of [
      { ...bounds, used: NOW + 6 },
      { ...bounds, created: NOW + 1 },
    ])
      expect(await sessions.find("a", ended)).toBeUndefined();
    await sessions.prune(bounds, NOW);
    expect(await sessions.find("a", EVER)).toBeDefined();
    await sessions.prune({ ...bounds, used: NOW + 6 }, NOW);
    expect(await sessions.find("a", EVER)).toBeUndefined();
  });

  it("end with their key", async () => {
    await using database = await createTestDatabase(kind);
    const store = await database.open();
    const { key_id } = await insertKey(store, NOW, ANN);
    await store.sessions.open("a", key_id, NOW);
    await store.apiKeys.revoke(key_id, null, NOW);
    expect(await store.sessions.find("a", EVER)).toBeUndefined();
  });

  it("are opened once by a code, however many race for it", async () => {
    await using database = await createTestDatabase(kind);
    const [store, other] = [await database.open(), await database.open()];
    const { key_id } = await insertKey(store, NOW, ANN);
    await store.sessions.addCode("code", key_id, NOW);
    const taken = await Promise.all(
      [store, other, store, other].map(({ sessions }) => sessions.takeCode("code", NOW)),
    );
    expect(taken.filter((key) => key !== undefined)).toMatchObject([{ key_id }]);
    await store.sessions.addCode("old", key_id, NOW - 1);
    expect(await store.sessions.takeCode("old", NOW)).toBeUndefined();
  });
});
