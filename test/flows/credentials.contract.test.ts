// A call's authentication setting, token and variables, from where they are stored to the target that receives them.
import { expect, it, vi } from "vitest";
import { startStack } from "../support/stack.ts";
import type { Stack } from "../support/stack.ts";
import { startTarget } from "../support/target-server.ts";

const START = Date.UTC(2026, 9, 1, 12, 0, 30);

const create = async (
  { client }: Stack,
  path: string,
  body: object,
): Promise<string> =>
  (await client.send<{ id: string }>("POST", path, body)).id;

/** The first result of the call when it is no longer in flight. */
async function run(
  { client }: Stack,
  callId: string,
  context: object,
): Promise<{ meta: object }> {
  await client.send("POST", `/calls/${callId}/run`, { context });
  return vi.waitFor(
    async () => {
      const [result] = await client.results(callId);
      expect(result?.meta.result).not.toMatch(/QUEUED|PROCESSING/);
      return result as { meta: object };
    },
    { timeout: 10_000, interval: 20 },
  );
}

it("brings what a call names to the target, and to nobody else", async () => {
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

it("does not run a call whose token has expired", async () => {
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
    message:
      "credential_expired: the token 'old' expired at 2026-10-01T11:00:00.000Z",
  });
  expect(target.connections()).toBe(0);
});
