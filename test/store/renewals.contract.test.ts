import { beforeAll, describe, expect, it } from "vitest";
import { newId } from "../../src/runtime/ids.ts";
import type { NewDocument } from "../../src/store/records.ts";
import { aCall, insertKey, T0 } from "../support/runs.ts";
import { sharedStore, storeKinds } from "../support/stores.ts";

describe.each(storeKinds)("renewals on %s", (kind) => {
  const { store } = sharedStore(kind);
  beforeAll(() => insertKey(store, T0));

  const aToken = async (auth_id = "setting"): Promise<NewDocument> => {
    const token: NewDocument = {
      ...aCall(),
      kind: "token",
      document: { token: {} },
      filters: { auth_id },
    };
    await store.documents.insert(token);
    return token;
  };
  const use = ({ id }: NewDocument) => store.documents.insert(aCall({ filters: { token_id: id } }));
  const due = async (now: number, ...tokens: readonly NewDocument[]): Promise<number[]> => {
    const known = tokens.map(({ id }) => id);
    const listed = await store.renewals.listDue(now);
    return listed.map(({ id }) => known.indexOf(id)).filter((place) => place >= 0);
  };

  it("are due for tokens that a call uses, longest due first", async () => {
    const tokens = [await aToken(), await aToken(), await aToken()] as const;
    expect(await due(T0, ...tokens)).toEqual([]);
    for (const token of tokens) await use(token);
    const [one, two, three] = tokens;
    await store.renewals.putOff(one.id, T0 + 2);
    await store.renewals.putOff(two.id, T0 + 1);
    await store.renewals.putOff(three.id, null);
    expect(await due(T0 + 1, ...tokens)).toEqual([1]);
    expect(await due(T0 + 2, ...tokens)).toEqual([1, 0]);
  });

  it("have one claim at a time for a token, until it ends", async () => {
    const { id } = await aToken();
    const claim = (now: number) => store.renewals.claim(id, now, now + 60);
    const claims = await Promise.all([claim(T0), claim(T0), claim(T0)]);
    expect(claims.toSorted()).toEqual([false, false, true]);
    expect(await claim(T0 + 59)).toBe(false);
    expect(await claim(T0 + 60)).toBe(true);
  });

  it("are due again when the claimant says, unless another has claimed the token", async () => {
    const token = await aToken();
    await use(token);
    const { renewals } = store;
    await renewals.claim(token.id, T0, T0 + 60);
    await renewals.claim(token.id, T0 + 60, T0 + 120);
    expect(await renewals.release(token.id, T0 + 60, T0 + 61)).toBe(false);
    expect(await due(T0 + 119, token)).toEqual([]);
    expect(await renewals.release(token.id, T0 + 120, T0 + 62)).toBe(true);
    expect(await due(T0 + 61, token)).toEqual([]);
    expect(await due(T0 + 62, token)).toEqual([0]);
  });

  it.each(["the token", "its setting"])(
    "are due at once when %s is written, once its claim ends",
    async (which) => {
      const setting: NewDocument = {
        ...aCall(),
        id: newId(T0),
        kind: "auth_setting",
        document: { keys: {}, settings: {} },
      };
      await store.documents.insert(setting);
      const token = await aToken(setting.id);
      await use(token);
      const { renewals } = store;
      const write = () => store.documents.replace(which === "the token" ? token : setting);
      await renewals.claim(token.id, T0, T0 + 60);
      await write();
      expect(await due(T0 + 59, token)).toEqual([]);
      expect(await renewals.claim(token.id, T0 + 59, T0 + 99)).toBe(false);
      expect(await due(T0 + 60, token)).toEqual([0]);
      expect(await renewals.release(token.id, T0 + 60, null)).toBe(false);
      expect(await due(T0, token)).toEqual([0]);
      await renewals.putOff(token.id, null);
      expect(await due(T0, token)).toEqual([]);
      await write();
      expect(await due(T0, token)).toEqual([0]);
    },
  );
});
