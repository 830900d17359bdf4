// The agents of a location as an operator sees them: processes on NATS, and the command line.
import { expect, it } from "vitest";
import type { Client } from "../support/client.ts";
import { httpClient } from "../support/client.ts";
import { startNatsServer } from "../support/nats-server.ts";
import { makeFolder, runSonde, startSonde } from "../support/process.ts";
import type { SondeProcess } from "../support/process.ts";
import { startTarget } from "../support/target-server.ts";
import { until } from "../support/until.ts";

const KEY = "0123456789abcdefghijABCDEFGHIJ01";

interface Listed {
  readonly meta: { readonly id: string };
  readonly state: string;
}

async function startSystem() {
  await using stack = new AsyncDisposableStack();
  const nats = stack.use(await startNatsServer());
  const target = stack.use(await startTarget());
  const folder = stack.use(makeFolder());
  const env = { SONDE_NATS_URL: nats.url, SONDE_BOOTSTRAP_KEY: KEY };
  const command = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await runSonde(args, { folder: folder.path, env });
    if (code !== 0) throw new Error(stderr);
    return stdout;
  };
  const hub = stack.use(
    startSonde(["serve", "--roles", "api,scheduler,aggregator"], { folder: folder.path, env }),
  );
  const client = httpClient(await hub.api(), KEY);
  await hub.ready();
  const [, location = ""] =
    /^SONDE_LOCATION_KEY=(.*)$/m.exec(await command("locations", "env", "local")) ?? [];
  const running = stack.move();
  return {
    target,
    client,
    command,
    startAgent: (threads: number): SondeProcess =>
      running.use(
        startSonde(["serve", "--roles", "agent"], {
          env: {
            SONDE_NATS_URL: nats.url,
            SONDE_LOCATION_KEY: location,
            SONDE_EGRESS_ALLOW: target.authority,
            SONDE_AGENT_THREADS: String(threads),
          },
        }),
      ),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

const idsOf = async (agent: SondeProcess, threads: number): Promise<string[]> => {
  const started = () => agent.log().filter(({ msg }) => msg === "agent started");
  await until(() => expect(started()).toHaveLength(threads));
  await agent.ready();
  return started().map((line) => String(line["agent_id"]));
};

/** Returns the agents that executed the runs, which are ordered at once. */
async function runMany(client: Client, url: string, runs: number): Promise<Set<string>> {
  const callId = await client.createCall(url);
  await Promise.all(
    Array.from({ length: runs }, () => client.send("POST", `/calls/${callId}/run`)),
  );
  const ended = await client.ended(callId);
  expect(ended).toHaveLength(runs);
  return new Set(ended.map(({ meta }) => String(meta.agent_id)));
}

it("processes and threads share a location, drain one by one, resume and leave", async () => {
  await using system = await startSystem();
  const { client, command, target } = system;
  const one = system.startAgent(1);
  const two = system.startAgent(2);
  const [[alone = ""], threads] = await Promise.all([idsOf(one, 1), idsOf(two, 2)]);
  const statesOf = async (...ids: string[]) => {
    const { agent_list } = await client.send<{ agent_list: Listed[] }>("GET", "/agents/info");
    return ids.map((id) => agent_list.find(({ meta }) => meta.id === id)?.state);
  };
  await until(async () =>
    expect(await statesOf(alone, ...threads)).toEqual(Array(3).fill("ONLINE")),
  );
  expect(await command("agents", "list")).toMatch(
    /^LOCATION +AGENT +STATE .*\n(local +agent-\w+ +ONLINE .*\n){3}$/,
  );

  await until(async () =>
    expect(await runMany(client, target.url, 12)).toEqual(new Set([alone, ...threads])),
  );

  const drained = await Promise.all(threads.map((id) => command("agents", "drain", id)));
  expect(drained[0]).toBe(
    `agent ${threads[0]} at local accepts no new runs, finishes its current ones ` +
      "and stays DRAINING, within 10 seconds\n",
  );
  await until(async () => expect(await statesOf(...threads)).toEqual(["DRAINING", "DRAINING"]));
  await two.ready();
  expect(await runMany(client, target.url, 12)).toEqual(new Set([alone]));

  expect(await command("agents", "drain", threads[0] ?? "", "--undo")).toContain(
    "accepts runs again",
  );
  await until(async () => expect(await statesOf(...threads)).toEqual(["ONLINE", "DRAINING"]));

  const lines = (await command("agents", "list", "--json")).trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line) as object)).toContainEqual(
    expect.objectContaining({ agent_id: threads[1], state: "DRAINING", drain_ordered: true }),
  );

  expect(await one.stop()).toEqual({ code: 0, signal: null });
  expect(await statesOf(alone)).toEqual(["OFFLINE"]);
  expect(await runMany(client, target.url, 3)).toEqual(new Set([threads[0]]));
  await expect(command("agents", "drain", "agent-unknown")).rejects.toThrow(
    "no agent 'agent-unknown'; `sonde agents list` shows them",
  );
});
