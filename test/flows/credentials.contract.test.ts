// A call's authentication setting, token and variables, from the store to the target.
import type { RequestListener } from "node:http";
import { expect, it } from "vitest";
import { parseEgressAllow } from "../../src/net/egress.ts";
import { createHostResolver } from "../../src/net/resolve-host.ts";
import { formatInstant } from "../../src/model/instant.ts";
import { createRenewalMetrics } from "../../src/renewal/metrics.ts";
import { createTokenRenewal } from "../../src/renewal/renewal.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import { Registry } from "../../src/runtime/metrics.ts";
import type { ListedResult } from "../support/client.ts";
import { startStack } from "../support/stack.ts";
import type { Stack } from "../support/stack.ts";
import { startTarget } from "../support/target-server.ts";
import type { HttpTarget } from "../support/target-server.ts";
import { until } from "../support/until.ts";

const START = Date.UTC(2026, 9, 1, 12, 0, 30);

const create = async ({ client }: Stack, path: string, body: object): Promise<string> =>
  (await client.send<{ id: string }>("POST", path, body)).id;

/** Runs the call; returns its first result once that has ended. */
async function run({ client }: Stack, callId: string, context: object) {
  await client.send("POST", `/calls/${callId}/run`, { context });
  const [result] = await client.ended(callId);
  return result as ListedResult;
}

it("sends a call's credentials and variables to its target and exposes them nowhere else", async () => {
  await using target = await startTarget();
  await using stack = await startStack({
    now: START,
    egressAllow: [target.authority],
  });
  const { client } = stack;
  for (const [place, value] of [
    ["global/host", "127.0.0.1"],
    ["global/tier", "of all"],
    ["blue/tier", "of blue"],
    ["blue/unused", "never-sent"],
  ])
    await client.send("POST", `/environment/${place}`, { value });
  const auth_id = await create(stack, "/auth/", {
    meta: { name: "target", domain: "127.0.0.1" },
    keys: { client_id: "me", client_secret: "hush-secret" },
    settings: { auth_type: "MANUAL", custom_variables: { mine: "own" } },
  });
  const token_id = await create(stack, "/tokens/", {
    meta: { name: "token", auth_id },
    token: {
      access_token: "hush-token",
      headers: [{ key: "X-Token", value: "%%ACCESS_TOKEN%% {{tier}}" }],
    },
  });
  const callId = await create(stack, "/calls/", {
    meta: { name: "call" },
    request: {
      method: "POST",
      url: `http://{{host}}:${target.port}/{{mine}}/%%CITY%%`,
      body: '{"secret":"%%CLIENT_SECRET%%"}',
      auth_id,
      token_id,
    },
  });

  const { meta } = await run(stack, callId, { city: "Ems", workspace: "blue" });

  expect(meta).toMatchObject({ result: "COMPLETE", message: null });
  expect(target.requests).toMatchObject([
    {
      url: "/own/Ems",
      headers: { "x-token": "hush-token of blue" },
      body: '{"secret":"hush-secret"}',
    },
  ]);
  const { results } = await client.send<{ results: { id: string }[] }>(
    "GET",
    `/calls/${callId}/results/`,
  );
  const stored = await client.send("GET", `/results/${results[0]?.id}/`);
  expect(JSON.stringify([results, stored])).not.toMatch(/hush|of blue/);
});

it("skips a call with an expired token", async () => {
  await using target = await startTarget();
  await using stack = await startStack({
    now: START,
    egressAllow: [target.authority],
  });
  const auth_id = await create(stack, "/auth/", {
    meta: { name: "target", domain: "127.0.0.1" },
    settings: { auth_type: "OAUTH2" },
  });
  const token_id = await create(stack, "/tokens/", {
    meta: { name: "old", auth_id },
    token: { access_token: "hush", expire_time: "2026-10-01T11:00:00Z" },
  });
  const callId = await create(stack, "/calls/", {
    meta: { name: "call" },
    request: { method: "GET", url: target.url, auth_id, token_id },
  });

  const { meta } = await run(stack, callId, {});

  expect(meta).toMatchObject({
    result: "SKIPPED",
    result_category: null,
    message: "credential_expired: the token 'old' expired at 2026-10-01T11:00:00.000Z",
  });
  expect(target.connections()).toBe(0);
});

/** Creates a token obtained by renewal, a call that uses it, and the renewal. */
async function startRenewed(stack: Stack, target: HttpTarget, token: object) {
  const auth_id = await create(stack, "/auth/", {
    meta: { name: "target", domain: "127.0.0.1" },
    keys: { client_id: "me", client_secret: "hush" },
    settings: { auth_type: "OAUTH2", access_token_url: `${target.url}/token` },
  });
  const token_id = await create(stack, "/tokens/", {
    meta: { name: "token", auth_id },
    token: { grant_type: "client_credentials", ...token },
  });
  const callId = await create(stack, "/calls/", {
    meta: { name: "call" },
    request: { method: "GET", url: `${target.url}/called`, auth_id, token_id },
  });
  const renewal = createTokenRenewal({
    store: stack.store,
    egress: parseEgressAllow([target.authority]),
    resolver: createHostResolver({ clock: systemClock }),
    version: "1.2.3",
    log: createLogger("silent"),
    metrics: createRenewalMetrics(new Registry()),
  });
  return {
    callId,
    renew: async () => {
      await renewal.beat();
      await renewal.settled();
    },
  };
}

const issuing: RequestListener = ({ url }, response) =>
  response.end(url === "/token" ? '{"access_token":"issued","expires_in":600}' : "ok");

it.each<[string, object, number]>([
  ["that has not been issued yet, run immediately", {}, 0],
  [
    "that expires before its latest start, run in a minute",
    {
      access_token: "old",
      expires_in: 600,
      expire_time: formatInstant(START + 100_000),
    },
    62,
  ],
])("a call with a token %s, uses the renewed one", async (_, token, delay) => {
  await using target = await startTarget(issuing);
  await using stack = await startStack({
    now: START,
    egressAllow: [target.authority],
  });
  const { client, clock } = stack;
  const { callId, renew } = await startRenewed(stack, target, token);
  await client.send("POST", `/calls/${callId}/run`, { run_delay: delay });
  await stack.beat();
  const [queued] = await client.results(callId);
  expect(queued?.meta.result).toBe("QUEUED");

  await renew();
  const due = Date.parse(queued?.meta.due_time ?? "");
  clock.moveTo(Math.max(clock.now(), due - 10_000));
  await stack.beat();
  clock.moveTo(due);
  await expect.poll(async () => (await client.results(callId))[0]?.meta.result).toBe("COMPLETE");
  expect(target.requests.map(({ url, headers }) => [url, headers.authorization])).toEqual([
    ["/token", undefined],
    ["/called", "Bearer issued"],
  ]);
});

it("skips a call when its token cannot be obtained in time, with the reason", async () => {
  await using target = await startTarget((_, response) => response.writeHead(500).end());
  await using stack = await startStack({
    now: START,
    egressAllow: [target.authority],
  });
  const { callId, renew } = await startRenewed(stack, target, {});
  await renew();
  const { meta } = await run(stack, callId, {});
  expect(meta).toMatchObject({
    result: "SKIPPED",
    message:
      "credential_missing: the token 'token' was not obtained; its renewal failed: the token endpoint answered 500",
  });
});

it("replaces a token that expires while a workflow runs", async () => {
  const reached = Promise.withResolvers<void>();
  const renewed = Promise.withResolvers<void>();
  await using target = await startTarget((request, response) => {
    const isFirst = request.headers.authorization === "Bearer old";
    if (isFirst) reached.resolve();
    void (isFirst ? renewed.promise : Promise.resolve()).then(() => issuing(request, response));
  });
  await using stack = await startStack({ now: START, egressAllow: [target.authority] });
  const { client, clock } = stack;
  const expiry = START + 65_000;
  const { callId, renew } = await startRenewed(stack, target, {
    access_token: "old",
    expires_in: 65,
    expire_time: formatInstant(expiry),
  });
  const workflow = await create(stack, "/workflows/", {
    meta: { name: "workflow" },
    workflow: { call_ids: [callId, callId, callId] },
  });
  await client.send("POST", `/workflows/${workflow}/run`, {});
  await reached.promise;
  clock.passTo(expiry - 10_000);
  await renew();
  clock.passTo(expiry);
  renewed.resolve();
  const results = await until(async () => {
    const ended = await client.results(callId);
    expect(ended.map(({ meta }) => meta.result)).toEqual(["COMPLETE", "COMPLETE", "COMPLETE"]);
    return ended;
  });
  expect(results.map(({ meta }) => meta.message)).toEqual([null, null, null]);
  const sent = target.requests.filter(({ url }) => url === "/called");
  expect(sent.map(({ headers }) => headers.authorization)).toEqual([
    "Bearer old",
    "Bearer issued",
    "Bearer issued",
  ]);
});
