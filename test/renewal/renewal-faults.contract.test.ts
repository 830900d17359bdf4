// What must not happen to other tokens, or to a renewed token, when something goes wrong.
import type { RequestListener, ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { authSettingResource } from "../../src/model/auth-setting.ts";
import type { AuthSetting } from "../../src/model/auth-setting.ts";
import { unavailable } from "../../src/model/errors.ts";
import { LEAST_BETWEEN_MS, renewalFailureOf } from "../../src/model/token-renewal.ts";
import type { Token } from "../../src/model/token.ts";
import type { TokenRenewal } from "../../src/renewal/renewal.ts";
import type { StoredDocument } from "../../src/store/records.ts";
import type { Store } from "../../src/store/store.ts";
import { storedText } from "../support/stored-secrets.ts";
import { storeKinds } from "../support/stores.ts";
import { answering, insertToken, NOON, renewAll, startRenewing } from "./renewing.ts";

const NEW = { access_token: "new", expires_in: 3600 };

describe.each(storeKinds)("the renewal of tokens in %s", (kind) => {
  const start = (handler: RequestListener) => startRenewing(kind, handler);
  const settingOf = async (store: Store, id: string) => {
    const token = await store.documents.get("token", id);
    const { auth_id } = (token as StoredDocument<Token>).document.meta;
    const setting = await store.documents.get("auth_setting", auth_id);
    return setting as StoredDocument<AuthSetting>;
  };

  it("saves answers that arrive while it stops, and sends no more requests", async () => {
    const held: ServerResponse[] = [];
    await using system = await start((_, response) => held.push(response));
    const tokens = await Promise.all(
      Array.from({ length: 11 }, () =>
        insertToken(system.store, system.url, {
          token: { grant_type: "refresh_token", refresh_token: "r0" },
        }),
      ),
    );
    const renewal = system.renewal();
    await renewal.beat();
    await expect.poll(() => held).toHaveLength(10);
    const stopped = renewal.stop();
    for (const response of held) response.end(JSON.stringify({ ...NEW, refresh_token: "r1" }));
    await stopped;
    const saved = await Promise.all(tokens.map(system.tokenOf));
    expect(saved.filter(({ token }) => token.refresh_token === "r1")).toHaveLength(10);
    expect(system.target.requests).toHaveLength(10);
  });

  it("saves the answer once the database is back", async () => {
    await using system = await start(answering(NEW));
    const { store } = system;
    const id = await insertToken(store, system.url, {});
    let outages = 0;
    const lost: Store = {
      ...store,
      transaction: (work) => {
        if (outages === 2) return store.transaction(work);
        outages += 1;
        return Promise.reject(unavailable("the database cannot be reached"));
      },
    };
    await renewAll(system.renewal({ over: lost }));
    expect(outages).toBe(2);
    expect(system.target.requests).toHaveLength(1);
    expect((await system.tokenOf(id)).token.access_token).toBe("new");
  });

  it("leaves the waiting ones to the next beat while the database is away", async () => {
    await using system = await start(answering(NEW));
    const { store } = system;
    for (let token = 0; token < 11; token += 1) await insertToken(store, system.url, {});
    let claims = 0;
    const claim = () => {
      claims += 1;
      return Promise.reject(unavailable("the database cannot be reached"));
    };
    const renewals = { ...store.renewals, claim };
    await renewAll(system.renewal({ over: { ...store, renewals } }));
    expect(claims).toBe(10);
  });

  it.each(["a token", "its setting"])(
    "asks once though %s is written meanwhile, and looks at it again afterwards",
    async (which) => {
      const held: ServerResponse[] = [];
      await using system = await start((_, response) => held.push(response));
      const { store, target, clock } = system;
      const id = await insertToken(store, system.url, {
        token: { grant_type: "refresh_token", refresh_token: "r0" },
      });
      const renewals = [0, 1].map(() => system.renewal());
      const [first, other] = renewals as [TokenRenewal, TokenRenewal];
      await first.beat();
      await expect.poll(() => held).toHaveLength(1);
      const setting = await settingOf(store, id);
      const written = which === "a token" ? await store.documents.get("token", id) : setting;
      const filters = which === "a token" ? { auth_id: setting.id } : {};
      await store.documents.replace({ ...(written ?? setting), filters });
      await first.beat();
      await renewAll(other);
      held[0]?.end(JSON.stringify({ ...NEW, refresh_token: "r1" }));
      await first.settled();
      expect((await system.tokenOf(id)).token.refresh_token).toBe("r1");
      const later = NOON + 2 * LEAST_BETWEEN_MS;
      clock.moveTo(later);
      expect(await store.renewals.listDue(later)).toMatchObject([{ id }]);
      await renewAll(other);
      expect(await store.renewals.listDue(later)).toEqual([]);
      expect(target.requests).toHaveLength(1);
    },
  );

  it("does not ask again while an answer waits to be saved", async () => {
    await using system = await start(answering(NEW));
    const { store, clock, target } = system;
    const id = await insertToken(store, system.url, {});
    let [isLost, outages] = [true, 0];
    const lost: Store = {
      ...store,
      transaction: (work) => {
        if (!isLost) return store.transaction(work);
        outages += 1;
        return Promise.reject(unavailable("the database cannot be reached"));
      },
    };
    const renewal = system.renewal({ over: lost });
    await renewal.beat();
    await expect.poll(() => outages).toBeGreaterThan(0);
    clock.moveTo(NOON + 3_000_000);
    await renewal.beat();
    isLost = false;
    await renewal.settled();
    expect((await system.tokenOf(id)).token.access_token).toBe("new");
    expect(target.requests).toHaveLength(1);
  });

  it("renews the others when a token or a setting cannot be decrypted", async () => {
    await using system = await start(answering(NEW));
    const { store, clock, run } = system;
    const [token, ofSetting, good] = [
      await insertToken(store, system.url, { token: { refresh_token: "r" } }),
      await insertToken(store, system.url, {}),
      await insertToken(store, system.url, {}),
    ];
    await system.spoil(token);
    await system.spoil((await settingOf(store, ofSetting)).id);
    for (const second of [0, 5, 9]) {
      clock.moveTo(NOON + second * 1000);
      await run();
    }
    expect((await system.tokenOf(good)).token.access_token).toBe("new");
    expect(renewalFailureOf(await system.tokenOf(ofSetting))).toBe(
      "the authentication setting cannot be decrypted",
    );
    expect(await system.outcomes()).toEqual({ renewed: 1, failed: 2 });
  });

  it("does not overwrite a token that can no longer be decrypted when its endpoint answers", async () => {
    const held: ServerResponse[] = [];
    await using system = await start((_, response) => held.push(response));
    const id = await insertToken(system.store, system.url, {});
    const renewal = system.renewal();
    await renewal.beat();
    await expect.poll(() => held).toHaveLength(1);
    const spoilt = await system.spoil(id);
    held[0]?.end(JSON.stringify(NEW));
    await renewal.settled();
    expect(await storedText(system.database, id)).toBe(spoilt);
    expect(await system.outcomes()).toEqual({ superseded: 1 });
  });

  it("does not let one owner's silent endpoints delay a namesake in another organization", async () => {
    const held: ServerResponse[] = [];
    await using system = await start((request, response) => {
      if (request.url === "/silent") held.push(response);
      else response.end(JSON.stringify(NEW));
    });
    const { store } = system;
    for (let n = 0; n < 30; n += 1)
      await insertToken(store, `${system.target.url}/silent`, { owner_org: "acme" });
    const id = await insertToken(store, system.url, {});
    const renewal = system.renewal();
    await renewal.beat();
    await expect.poll(async () => (await system.tokenOf(id)).token.access_token).toBe("new");
    await expect.poll(() => held).toHaveLength(10);
    const stopped = renewal.stop();
    for (const response of held) response.end("{}");
    await stopped;
    expect(system.target.requests).toHaveLength(11);
  });

  it("renews 120 tokens of one owner in one go", { tags: ["slow"] }, async () => {
    await using system = await start(answering(NEW));
    for (let n = 0; n < 120; n += 1) await insertToken(system.store, system.url, {});
    await system.run();
    expect(await system.outcomes()).toEqual({ renewed: 120 });
  });

  it("retries when the setting is corrected, at most every 30 s", async () => {
    await using system = await start(({ headers }, response) =>
      headers.authorization?.endsWith(btoa("me:right"))
        ? response.end(JSON.stringify(NEW))
        : response.writeHead(401).end(),
    );
    const { store, run } = system;
    const id = await insertToken(store, system.url, {
      settings: { basic_auth_get_token_method: true },
    });
    await run();
    await run();
    expect(system.target.requests).toHaveLength(1);
    const setting = await settingOf(store, id);
    const document = authSettingResource.update(
      setting.document,
      { meta: { domain: "a.example" }, keys: { client_secret: "right" } },
      NOON,
    );
    await store.documents.replace({ ...setting, document, filters: {} });
    await run();
    expect(system.target.requests).toHaveLength(1);
    system.clock.moveTo(NOON + 2 * LEAST_BETWEEN_MS);
    await run();
    expect((await system.tokenOf(id)).token.access_token).toBe("new");
    expect(await system.outcomes()).toEqual({ failed: 1, renewed: 1 });
  });

  it("writes a failure once, so that the token keeps its version", async () => {
    await using system = await start(answering("", 500));
    const id = await insertToken(system.store, system.url, {});
    await system.run();
    const told = await system.tokenOf(id);
    system.clock.moveTo(NOON + 20_000);
    await system.run();
    expect(system.target.requests).toHaveLength(2);
    expect(await system.tokenOf(id)).toEqual(told);
  });

  it("counts the tokens that fail, until they are renewed or gone", async () => {
    let isDown = true;
    await using system = await start((_, response) =>
      isDown ? response.writeHead(500).end() : response.end(JSON.stringify(NEW)),
    );
    const { store, run, clock } = system;
    await insertToken(store, system.url, {});
    const gone = await insertToken(store, system.url, {});
    await run();
    await run();
    expect(await system.failing()).toBe(2);
    await store.documents.remove("token", gone);
    isDown = false;
    clock.moveTo(NOON + 20_000);
    await run();
    await run();
    expect(await system.failing()).toBe(1);
    clock.moveTo(NOON + 400_000);
    await run();
    expect(await system.failing()).toBe(0);
  });

  it("renews a token that a dead process had claimed", async () => {
    await using system = await start(answering(NEW));
    const id = await insertToken(system.store, system.url, {});
    const taken = NOON + 60_000;
    expect(await system.store.renewals.claim(id, NOON, taken)).toBe(true);
    await renewAll(system.renewal());
    expect(system.target.requests).toHaveLength(0);
    system.clock.moveTo(taken);
    await renewAll(system.renewal());
    expect(await system.outcomes()).toEqual({ renewed: 1 });
  });
});
