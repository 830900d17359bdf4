// The results of an agent whose hub is unreachable, when the agent is killed or stopped, or its
// disk is full.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, inject, it } from "vitest";
import type { RunReport } from "../../src/model/result.ts";
import type { Tick } from "../../src/model/tick.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { newId } from "../../src/runtime/ids.ts";
import { aTick, connectTo, keyOf } from "../bus/buses.ts";
import { deployMany, expectLedger, openDisposable, outcomesOf } from "../support/deployments.ts";
import { readLedger } from "../support/ledger.ts";
import { startNatsServer } from "../support/nats-server.ts";
import { createDatabase } from "../support/postgres.ts";
import { makeFolder, startSonde } from "../support/process.ts";
import type { SondeProcess } from "../support/process.ts";
import { startTarget } from "../support/target-server.ts";
import type { HttpTarget } from "../support/target-server.ts";
import { until } from "../support/until.ts";

const EVERY_MS = 75;

/** Returns runs that are due one after the other, from half a second from now. */
const ticksFor = (target: HttpTarget, runs: number): Tick[] => {
  const after = systemClock.now();
  return Array.from({ length: runs }, (_, n) => {
    const due_time = after + 500 + n * EVERY_MS;
    const result_id = newId(due_time);
    const tick = aTick({ result_id });
    const [call] = tick.calls;
    if (!call) throw new Error("a tick without a call");
    return {
      ...tick,
      trigger_time: due_time,
      due_time,
      latest_start: due_time + 30_000,
      calls: [
        {
          ...call,
          result_id,
          request: { ...call.request, url: `${target.url}/${result_id}` },
        },
      ],
    };
  });
};

/** A NATS server, a target, and a hub that records the reports it receives. */
async function startSurroundings() {
  await using stack = new AsyncDisposableStack();
  const nats = stack.use(await startNatsServer());
  const away = Promise.withResolvers<void>();
  let answers = Promise.resolve();
  const target = stack.use(
    await startTarget((_, response) => void answers.then(() => response.end("ok"))),
  );
  const folder = stack.use(makeFolder());
  const hub = stack.use(await connectTo(nats.url));
  const reports: RunReport[] = [];
  await hub.consumeReports(async (batch) => void reports.push(...batch));
  // The consumer of an agent's ticks exists only once a hub has heard the agent.
  await hub.consumeHeartbeats(async (_, answer) => answer({ now: systemClock.now() }));
  const env = {
    SONDE_NATS_URL: nats.url,
    SONDE_EGRESS_ALLOW: target.authority,
    SONDE_LOCATION_KEY: Buffer.from(keyOf("local")).toString("base64"),
  };
  const publish = (ticks: readonly Tick[]) =>
    Promise.all(ticks.map((tick) => hub.publishTicks([tick])));
  const running = stack.move();
  return {
    nats,
    target,
    reports,
    results: () => reports.flatMap(({ results }) => results),
    startAgent: (threads = 1) =>
      running.use(
        startSonde(["serve", "--roles", "agent"], {
          folder: folder.path,
          env: { ...env, SONDE_AGENT_THREADS: String(threads) },
        }),
      ),
    publish,
    publishTogether: (ticks: readonly Tick[]) => hub.publishTicks(ticks),
    /** Publishes runs whose results must be spooled: they end only once NATS is killed. */
    publishLate: async (ticks: readonly Tick[], agent: SondeProcess) => {
      const earlier = target.requests.length;
      answers = away.promise;
      await publish(ticks);
      await until(async () => {
        const held = await metric(agent, "sonde_agent_held_ticks");
        expect(target.requests.length - earlier + held).toBe(ticks.length);
      });
    },
    killNats: async () => {
      await nats.kill();
      away.resolve();
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

async function metric(agent: SondeProcess, name: string): Promise<number> {
  const response = await fetch(`${await agent.ops()}/metrics`);
  const line = (await response.text()).split("\n").find((text) => text.startsWith(`${name} `));
  return Number(line?.split(" ")[1]);
}

/** Resolves when all these runs are over, and their reports on disk. */
const untilSpooled = (agent: SondeProcess, ticks: readonly Tick[]) =>
  until(async () => expect(await metric(agent, "sonde_agent_spooled_reports")).toBe(ticks.length));

const idsOf = (ticks: readonly Tick[]): string[] => ticks.map(({ result_id }) => result_id);

const errorsOf = (agent: SondeProcess) => agent.log().filter(({ level }) => level === "error");

describe.concurrent("while NATS is away", () => {
  it("the next agent delivers the results of a killed one, in order, and repeats no run", async () => {
    await using around = await startSurroundings();
    const { nats, target, reports, results } = around;
    const first = around.startAgent();
    await first.ready();
    const early = ticksFor(target, 5);
    await around.publish(early);
    await until(() => expect(reports).toHaveLength(early.length));
    const late = ticksFor(target, 35);
    await around.publishLate(late, first);
    await around.killNats();
    await untilSpooled(first, late);
    await first.kill9();

    await nats.restart();
    const second = around.startAgent();
    const delivered = (): string[] => [
      ...new Set(reports.slice(early.length).map(({ run_id }) => run_id)),
    ];
    await until(() => expect(delivered()).toEqual(idsOf(late)));
    // Publishes again, like a hub that has received no outcome.
    await around.publishTogether(late);
    await until(async () =>
      expect(await metric(second, "sonde_agent_repeated_ticks_total")).toBeGreaterThanOrEqual(
        late.length,
      ),
    );
    expect(await second.stop()).toEqual({ code: 0, signal: null });
    const requested = target.requests.map(({ url }) => url.slice(1));
    expect(requested.toSorted()).toEqual(idsOf([...early, ...late]).toSorted());
    expect(results().filter(({ meta }) => meta.result !== "COMPLETE")).toEqual([]);
    expect(errorsOf(second)).toEqual([]);
  });

  it("a stopping agent spools its results, exits in time, and delivers them at its next start", async () => {
    await using around = await startSurroundings();
    const { nats, target, reports, results } = around;
    const first = around.startAgent();
    await first.ready();
    const ticks = ticksFor(target, 40);
    await around.publishLate(ticks, first);
    await around.killNats();
    await until(() => expect(target.requests.length).toBeGreaterThan(20));
    const asked = performance.now();
    expect(await first.stop(), first.stderr()).toEqual({
      code: 0,
      signal: null,
    });
    expect(performance.now() - asked).toBeLessThan(10_000);
    expect(errorsOf(first)).toEqual([]);
    const run = target.requests.length;

    await nats.restart();
    const second = around.startAgent();
    await until(() =>
      expect(new Set(results().map(({ id }) => id)).size).toBeGreaterThanOrEqual(run),
    );
    await second.logged(({ msg }) => msg === "spooled reports delivered");
    expect(idsOf(ticks)).toEqual(expect.arrayContaining(reports.map(({ run_id }) => run_id)));
    expect(await second.stop()).toEqual({ code: 0, signal: null });
  });

  it("a process with fewer agents delivers what those of the last one have spooled", async () => {
    await using around = await startSurroundings();
    const { nats, target, reports, results } = around;
    const first = around.startAgent(2);
    await first.ready();
    const agents = () => new Set(reports.map(({ agent_id }) => agent_id));
    for (let early = 2; agents().size < 2; early += 2) {
      await around.publish(ticksFor(target, 2));
      await until(() => expect(reports).toHaveLength(early));
    }
    const ticks = ticksFor(target, 40);
    await around.publishLate(ticks, first);
    await around.killNats();
    await untilSpooled(first, ticks);
    expect(await first.stop(), first.stderr()).toEqual({ code: 0, signal: null });
    expect(runsIn(join(first.dataDir, "spool-2.db"))).not.toEqual([]);

    await nats.restart();
    const next = around.startAgent();
    await until(() =>
      expect(results().map(({ id }) => id)).toEqual(expect.arrayContaining(idsOf(ticks))),
    );
    await next.logged(({ msg }) => msg === "took over a former agent's spool");
    expect(errorsOf(next)).toEqual([]);
  });

  it("an agent with a full disk keeps its results in memory, and spools them once there is space", async () => {
    await using around = await startSurroundings();
    const { nats, target, results } = around;
    const agent = around.startAgent();
    await agent.ready();
    const ticks = ticksFor(target, 40);
    await around.publishLate(ticks, agent);
    limitFiles(agent, "16384");
    await around.killNats();
    const fault = await agent.logged(({ level }) => level === "error");
    expect(fault).toMatchObject({
      msg: "spool unavailable: reports wait in memory",
    });
    await until(() => expect(target.requests).toHaveLength(ticks.length));
    expect(errorsOf(agent)).toEqual([fault]);
    limitFiles(agent, "unlimited");
    await agent.logged(({ msg }) => msg === "spool available again");
    await untilSpooled(agent, ticks);
    await agent.kill9();

    await nats.restart();
    const next = around.startAgent();
    await until(() =>
      expect(results().map(({ id }) => id)).toEqual(expect.arrayContaining(idsOf(ticks))),
    );
    expect(errorsOf(next)).toEqual([]);
  });
});

it("each due slot has one outcome when NATS and the agent are killed, spooled results included", async () => {
  await using target = await startTarget();
  await using nats = await startNatsServer();
  using folder = makeFolder();
  const url = await createDatabase(inject("postgresUrl"));
  await using store = await openDisposable({ url });
  const schedules = await deployMany(store, target.url, 120);
  const env = {
    SONDE_DATABASE_URL: url,
    SONDE_MASTER_KEY: "5a".repeat(32),
    SONDE_NATS_URL: nats.url,
    SONDE_EGRESS_ALLOW: target.authority,
  };
  await using hub = startSonde(["serve", "--roles", "scheduler,aggregator"], {
    env,
  });
  const startAgent = (): SondeProcess =>
    startSonde(["serve", "--roles", "agent"], { env, folder: folder.path });
  await using agent = startAgent();
  await until(async () => {
    const { results } = await readLedger(store, schedules);
    expect(results.map(({ meta }) => meta.result)).toContain("COMPLETE");
  });
  await nats.kill();
  await until(async () =>
    expect(await metric(agent, "sonde_agent_spooled_reports")).toBeGreaterThan(5),
  );
  await agent.kill9();
  const spooled = runsIn(join(agent.dataDir, "spool.db"));
  expect(spooled.length).toBeGreaterThan(5);

  await nats.restart();
  await using next = startAgent();
  await next.logged(({ msg }) => msg === "spooled reports delivered");
  await outcomesOf(store, schedules, systemClock.now());
  for (const each of [hub, next]) expect(await each.stop()).toEqual({ code: 0, signal: null });
  const { results } = await expectLedger(store, schedules);
  const outcomes = new Map(results.map(({ id, meta }) => [id, meta.result] as const));
  expect(spooled.map((id) => outcomes.get(id))).toEqual(spooled.map(() => "COMPLETE"));
});

function runsIn(path: string): string[] {
  const database = new DatabaseSync(path);
  const rows = database.prepare("select run_id from reports").all();
  database.close();
  return rows.map((row) => String(row["run_id"]));
}

/** Limits the size of the process's files, beyond which writes fail as on a full disk. */
function limitFiles({ pid }: SondeProcess, bytes: string): void {
  const { status, stderr, error } = spawnSync(
    "prlimit",
    ["--pid", String(pid), `--fsize=${bytes}:`],
    { encoding: "utf8" },
  );
  expect(status, `prlimit, of the package util-linux: ${error?.message ?? stderr}`).toBe(0);
}
