// Shared by the tests of renewal: tokens with what they need, and an endpoint that renews them.
import type { RequestListener } from "node:http";
import { parseEgressAllow } from "../../src/net/egress.ts";
import { createHostResolver } from "../../src/net/resolve-host.ts";
import type { Ownership } from "../../src/model/access.ts";
import { authSettingResource } from "../../src/model/auth-setting.ts";
import { ofSetting, tokenResource } from "../../src/model/token.ts";
import type { Token } from "../../src/model/token.ts";
import { createRenewalMetrics } from "../../src/renewal/metrics.ts";
import { createTokenRenewal } from "../../src/renewal/renewal.ts";
import type { TokenRenewal } from "../../src/renewal/renewal.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { newId } from "../../src/runtime/ids.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import { Registry } from "../../src/runtime/metrics.ts";
import type { Store } from "../../src/store/store.ts";
import { insertKey } from "../support/runs.ts";
import { createShiftedClock } from "../support/shifted-clock.ts";
import { damageSecrets } from "../support/stored-secrets.ts";
import { createTestDatabase } from "../support/stores.ts";
import type { StoreKind } from "../support/stores.ts";
import { startTarget } from "../support/target-server.ts";

export const NOON = Date.UTC(2026, 9, 1, 12);
const log = createLogger("silent");
const unshared = { org: false, community: false };

async function insert(
  store: Store,
  owner: Ownership,
  kind: "auth_setting" | "token" | "call",
  document: { id: string },
  filters: object,
): Promise<void> {
  await store.documents.insert({
    ...unshared,
    ...owner,
    id: document.id,
    kind,
    document,
    filters,
  });
}

/**
 * Creates a setting whose tokens come from `url`, a token of it, and a call that uses the token.
 * The setting belongs to the token's owner, or to another who shares it with everyone. The owner
 * gets a key.
 */
export async function insertToken(
  store: Store,
  url: string,
  {
    settings = {},
    token = {},
    keys = {},
    isUsed = true,
    domain = "a.example",
    sharer = null as string | null,
    owner_org = null as string | null,
    hasKey = true,
  },
): Promise<string> {
  if (hasKey) await insertKey(store, NOON, { org: owner_org });
  const owner = { owner: "ann", owner_org };
  const identity = () => ({ id: newId(NOON), owner: "ann", now: NOON });
  const setting = authSettingResource.create(
    {
      meta: { name: "s", domain },
      keys: { client_id: "me", client_secret: "hush +", ...keys },
      settings: { auth_type: "OAUTH2", access_token_url: url, ...settings },
      access: { settings: sharer !== null, keys: sharer !== null },
    },
    identity(),
  );
  const sharing = sharer === null ? {} : { owner: sharer, community: true };
  await insert(store, { ...owner, ...sharing }, "auth_setting", setting, {});
  const made = ofSetting(
    tokenResource.create(
      {
        meta: { name: "t", auth_id: setting.id },
        token: { grant_type: "client_credentials", ...token },
      },
      identity(),
    ),
    setting,
  );
  await insert(store, owner, "token", made, tokenResource.filters(made));
  if (isUsed)
    await insert(
      store,
      owner,
      "call",
      { id: newId(NOON) },
      { token_id: made.id, auth_id: setting.id },
    );
  return made.id;
}

export async function renewAll(renewal: TokenRenewal): Promise<void> {
  await renewal.beat();
  await renewal.settled();
}

export const answering =
  (answer: object | string, status = 200): RequestListener =>
  (_, response) => {
    response.writeHead(status).end(typeof answer === "string" ? answer : JSON.stringify(answer));
  };

/** Starts a store, a token endpoint, and the renewal between them. */
export async function startRenewing(kind: StoreKind, handler: RequestListener) {
  await using stack = new AsyncDisposableStack();
  const clock = createShiftedClock(NOON);
  const target = stack.use(await startTarget(handler));
  const database = stack.use(await createTestDatabase(kind));
  const store = await database.open(clock);
  const metrics = createRenewalMetrics(new Registry());
  const renewal = ({ allow = ["127.0.0.1"], timeoutMs = 10_000, over = store } = {}) =>
    createTokenRenewal({
      store: over,
      egress: parseEgressAllow(allow),
      resolver: createHostResolver({ clock: systemClock }),
      version: "1.2.3",
      log,
      metrics,
      timeoutMs,
    });
  const one = renewal();
  const kept = stack.move();
  return {
    clock,
    target,
    database,
    store,
    renewal,
    url: `${target.url}/token`,
    run: () => renewAll(one),
    tokenOf: async (id: string): Promise<Token> =>
      (await store.documents.get("token", id))?.document as Token,
    /** Counts the attempts so far by outcome; without those that there were none of. */
    async outcomes(): Promise<Record<string, number>> {
      const { values } = await metrics.attempts.get();
      const some = values.filter(({ value }) => value > 0);
      return Object.fromEntries(some.map(({ labels, value }) => [labels.outcome, value]));
    },
    failing: async () => (await metrics.failing.get()).values[0]?.value,
    spoil: (id: string) => damageSecrets(database, id),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
