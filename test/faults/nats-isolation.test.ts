// What the credentials of one location can reach on NATS with accounts, and what none can.
import { setTimeout as pause } from "node:timers/promises";
import { jetstreamManager } from "@nats-io/jetstream";
import type { StreamInfo } from "@nats-io/jetstream";
import { connect, nkeyAuthenticator } from "@nats-io/transport-node";
import type { NatsConnection } from "@nats-io/transport-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Bus } from "../../src/bus/bus.ts";
import type { MessageKind } from "../../src/bus/delivery.ts";
import { userSeedOf } from "../../src/bus/nats/nkey.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import { aHeartbeat, aRunReport, aTick, asked, connectTo, sealed } from "../bus/buses.ts";
import { natsAccounts } from "../support/nats-accounts.ts";
import { freePort } from "../support/free-port.ts";
import { startNatsServer } from "../support/nats-server.ts";
import type { NatsServer } from "../support/nats-server.ts";
import { T0 } from "../support/runs.ts";
import { until } from "../support/until.ts";

const accounts = natsAccounts(["paris", "tokyo"]);

const joinHub = (url: string, options = {}): Promise<Bus & AsyncDisposable> =>
  connectTo(url, { nkey: accounts.hubSeed, ...options });

const joinAgent = (url: string, locationId: string): Promise<Bus & AsyncDisposable> =>
  connectTo(url, { nkey: accounts.seedOf(locationId), locationId });

const joinAs = (url: string, seed: string, inboxPrefix = "_INBOX"): Promise<NatsConnection> =>
  connect({ servers: url, authenticator: nkeyAuthenticator(Buffer.from(seed)), inboxPrefix });

/**
 * Starts the location's agent, which answers each tick with a report, and the hub, which counts
 * them.
 */
async function startWork(hub: Bus, agent: Bus, location_id: string) {
  const taken: string[] = [];
  let reports = 0;
  await agent.consumeTicks(location_id, async (ticks) => {
    taken.push(...ticks.map((tick) => tick.result_id));
    await agent.publishReports([aRunReport(location_id)]);
  });
  await hub.consumeReports(async (batch) => {
    reports += batch.length;
  });
  await hub.consumeHeartbeats(async (_, answer) => answer({ now: T0 }));
  await hub.consumeCredentialsRequests(async (_, answer) => answer({ unable: "no more" }));
  const request = { location_id, run_id: "run", result_id: "result" };
  return {
    /** Resolves once a tick has come, its report has gone, and every question has an answer. */
    async goesOn(): Promise<void> {
      const tick = aTick({ location_id });
      await hub.publishTicks([tick]);
      await until(async () => {
        expect(await agent.sendHeartbeat(aHeartbeat(location_id))).toEqual({ now: T0 });
        expect(await agent.requestCredentials(request)).toEqual({ unable: "no more" });
        expect(taken).toContain(tick.result_id);
        expect(reports).toBe(taken.length);
        expect(agent.status()).toMatchObject({ connected: true });
      });
    },
  };
}

describe("the credentials of a location's agents", () => {
  it("suffice for all of their work, even after NATS has lost everything", async () => {
    await using server = await startNatsServer({ config: accounts.config });
    await using agent = await joinAgent(server.url, "tokyo");
    await using hub = await joinHub(server.url);
    const work = await startWork(hub, agent, "tokyo");
    await work.goesOn();
    await server.kill();
    await server.restart({ emptyStore: true });
    await work.goesOn();
  });

  it("do not start a hub, whose start fails with the reason", async () => {
    await using server = await startNatsServer({ config: accounts.config });
    await expect(connectTo(server.url, { nkey: accounts.seedOf("tokyo") })).rejects.toThrow(
      /^NATS at nats:\/\/127.0.0.1:\d+ refuses requests that this user needs \(.*Permissions Violation/,
    );
  });

  it("are refused with advice when the accounts do not name them", async () => {
    await using server = await startNatsServer({ config: accounts.config });
    const stranger = userSeedOf(new Uint8Array(32));
    await expect(connectTo(server.url, { nkey: stranger, locationId: "tokyo" })).rejects.toThrow(
      /refused the nkey U[A-Z2-7]{55} of SONDE_NATS_NKEY: .* run `sonde locations nats-config/,
    );
    for (const other of [{}, { user: "hub", pass: "hub" }, { token: "hub" }])
      await expect(connect({ servers: server.url, ...other })).rejects.toThrow(/authorization/i);
  });
});

/** Counts the messages that the server was sent, denied ones included. */
async function messagesTo(monitor: string): Promise<number> {
  const { in_msgs } = (await (await fetch(`http://${monitor}/varz`)).json()) as {
    readonly in_msgs: number;
  };
  return in_msgs;
}

it("an agent with the credentials of another location says once what it may not do", async () => {
  const monitor = `127.0.0.1:${await freePort()}`;
  const config = `${accounts.config}\nhttp: "${monitor}"\n`;
  await using server = await startNatsServer({ config });
  const lines: string[] = [];
  const log = createLogger("warn", { write: (line) => void lines.push(line) });
  const locationId = "tokyo-data-center-two";
  const wrong = { nkey: accounts.seedOf("paris"), locationId, log };
  await using agent = await connectTo(server.url, wrong);
  await agent.consumeTicks(locationId, async () => undefined);
  const logged = (): string[] =>
    lines.map((line) => {
      const { msg, err } = JSON.parse(line);
      return `${msg}: ${err.message.replace(/[\w-]{22,}/, "…")}`;
    });
  await until(() => expect(logged().join()).toContain("consuming interrupted"));
  for (let asked = 0; asked < 3; asked += 1)
    await agent.sendHeartbeat(aHeartbeat(locationId)).catch(() => undefined);
  const asked = await messagesTo(monitor);
  await until(async () => expect(await messagesTo(monitor)).toBeGreaterThan(asked + 3));
  expect(logged()).toContainEqual(expect.stringContaining(`sonde.heartbeats.${locationId}`));
  expect(new Set(logged()).size).toBe(logged().length);
  expect(agent.status()).toMatchObject({ detail: expect.stringContaining(locationId) });
});

it("an agent whose credentials are no longer valid says so once, and returns when they are", async () => {
  await using server = await startNatsServer({ config: accounts.config });
  const lines: string[] = [];
  const log = createLogger("warn", { write: (line) => void lines.push(line) });
  const tokyo = { nkey: accounts.seedOf("tokyo"), locationId: "tokyo", log };
  await using agent = await connectTo(server.url, tokyo);
  await server.kill();
  await server.restart({ config: natsAccounts(["paris"]).config });
  const refused = /refuses the connection \(Authorization Violation\)/;
  await until(() => expect(agent.status().detail).toMatch(refused));
  await pause(2000); // long enough for several attempts
  expect(agent.status().detail).toMatch(refused);
  await server.kill();
  await until(() => expect(agent.status().detail).toMatch(/: reconnecting$/));
  await server.restart({ config: accounts.config });
  await until(() => expect(agent.status().connected).toBe(true));
  expect(lines.filter((line) => line.includes("Authorization Violation"))).toHaveLength(1);
});

describe("an attacker with the credentials of tokyo", () => {
  let server: NatsServer;
  let hub: Bus & AsyncDisposable;
  let observer: NatsConnection;
  let attacker: NatsConnection;
  const dropped: MessageKind[] = [];
  const violations: string[] = [];

  beforeAll(async () => {
    server = await startNatsServer({ config: accounts.config });
    hub = await joinHub(server.url, { onDropped: (kind: MessageKind) => dropped.push(kind) });
    observer = await joinAs(server.url, accounts.hubSeed);
    attacker = await joinAs(server.url, accounts.seedOf("tokyo"), "sonde.inbox.tokyo");
    void (async () => {
      for await (const status of attacker.status())
        if (status.type === "error") violations.push(status.error.message);
    })();
    // Publishes messages that an attacker could destroy.
    await hub.publishTicks([aTick({ location_id: "paris" })]);
    await hub.publishTicks([aTick({ location_id: "tokyo" })]);
    const manager = await jetstreamManager(observer);
    await until(async () => {
      expect(await manager.consumers.info("SONDE_TICKS", "paris")).toBeDefined();
      expect(await manager.consumers.info("SONDE_TICKS", "tokyo")).toBeDefined();
    });
  });
  afterAll(async () => {
    await attacker.close();
    await observer.close();
    await hub[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  it.each([
    "sonde.ticks.tokyo",
    "sonde.ticks.paris",
    "sonde.results.paris",
    "sonde.heartbeats.tokyo",
    "sonde.inbox.paris.>",
    "sonde.>",
    "_INBOX.>",
    "_R_.>",
    "$JS.API.>",
    "$JS.EVENT.>",
    "$SYS.>",
    ">",
  ])("may not listen to %s", async (subject) => {
    const heard = Promise.withResolvers<string>();
    attacker.subscribe(subject, {
      callback: (err) => heard.resolve(err?.message ?? "a message"),
    });
    expect(await heard.promise).toContain("Permissions Violation");
  });

  const create = {
    stream_name: "SONDE_TICKS",
    config: { durable_name: "x", deliver_subject: "sonde.results.paris", ack_policy: "none" },
  };
  it.each<[subject: string, content?: object]>([
    ["sonde.ticks.tokyo"],
    ["sonde.ticks.paris"],
    ["sonde.results.paris"],
    ["sonde.heartbeats.paris"],
    ["sonde.credentials.paris"],
    ["sonde.inbox.paris.answer"],
    ["$JS.API.INFO"],
    ["$JS.API.STREAM.NAMES"],
    ["$JS.API.STREAM.INFO.SONDE_TICKS"],
    ["$JS.API.STREAM.PURGE.SONDE_TICKS"],
    ["$JS.API.STREAM.DELETE.SONDE_RESULTS"],
    ["$JS.API.STREAM.MSG.GET.SONDE_RESULTS", { seq: 1 }],
    ["$JS.API.CONSUMER.NAMES.SONDE_TICKS"],
    ["$JS.API.CONSUMER.DURABLE.CREATE.SONDE_TICKS.x", create],
    ["$JS.API.CONSUMER.CREATE.SONDE_TICKS.tokyo.sonde.ticks.tokyo", create],
    ["$JS.API.CONSUMER.DELETE.SONDE_TICKS.paris"],
    ["$JS.API.CONSUMER.MSG.NEXT.SONDE_TICKS.paris"],
    ["$JS.API.CONSUMER.MSG.NEXT.SONDE_TICKS.tokyo"],
    ["sonde.api.CONSUMER.INFO.SONDE_TICKS.paris"],
    ["sonde.api.CONSUMER.MSG.NEXT.SONDE_TICKS.paris"],
    ["sonde.api.CONSUMER.MSG.NEXT.SONDE_RESULTS.aggregator"],
    ["sonde.api.CONSUMER.CREATE.SONDE_TICKS.tokyo.sonde.ticks.tokyo", create],
    ["sonde.api.STREAM.PURGE.SONDE_TICKS"],
    ["$JS.ACK.SONDE_TICKS.paris.1.1.1.1.1"],
    ["$JS.ACK.SONDE_RESULTS.aggregator.1.1.1.1.1"],
    ["$SYS.REQ.SERVER.PING"],
  ])("may not publish to %s", async (subject, content = {}) => {
    const before = await stored();
    attacker.publish(subject, JSON.stringify(content), { reply: "sonde.inbox.tokyo.x" });
    await attacker.flush();
    const refusal = `Permissions Violation for Publish to "${subject}"`;
    await until(() => expect(violations.some((text) => text.includes(refusal))).toBe(true));
    expect(await stored()).toEqual(before);
  });

  it.each([
    "sonde.results.tokyo",
    "sonde.heartbeats.tokyo",
    "sonde.credentials.tokyo",
    "sonde.api.CONSUMER.INFO.SONDE_TICKS.tokyo",
    "sonde.api.CONSUMER.MSG.NEXT.SONDE_TICKS.tokyo",
    "$JS.ACK.SONDE_TICKS.tokyo.1.1.1.1.1",
  ])("cannot publish as the hub through the reply subject of a message to %s", async (subject) => {
    const consumer = await hub.consumeHeartbeats(async (_, answer) => answer({ now: T0 }));
    const heard: string[] = [];
    const watching = observer.subscribe(">", {
      callback: (_, message) => void heard.push(message.subject),
    });
    const before = await stored();
    const replies = [
      "$JS.API.STREAM.PURGE.SONDE_TICKS",
      "$JS.API.STREAM.DELETE.SONDE_RESULTS",
      "$JS.API.CONSUMER.DELETE.SONDE_TICKS.paris",
      "$JS.ACK.SONDE_TICKS.paris.1.1.1.1.1",
      "sonde.ticks.paris",
      "sonde.results.paris",
      "_INBOX.hub",
    ];
    const content = sealed("heartbeat", "tokyo", asked(aHeartbeat("tokyo")));
    for (const reply of replies) attacker.publish(subject, content, { reply });
    await attacker.flush();
    await observer.flush();
    await until(() => expect(heard).toContain(inHubOf(subject)));
    await observer.flush();
    watching.unsubscribe();
    expect(heard.filter((each) => replies.includes(each))).toEqual([]);
    const { reports, ...rest } = await stored();
    expect(rest).toEqual({ ticks: before.ticks, consumers: before.consumers });
    expect(reports).toBeGreaterThanOrEqual(before.reports);
    await consumer.drain();
  });

  it("can forge neither an agent with an overlong name nor a report of another location", async () => {
    dropped.length = 0;
    const [agents, reports]: [string[], string[]] = [[], []];
    const ears = await hub.consumeHeartbeats(async ({ agent_id }, answer) => {
      agents.push(agent_id);
      answer({ now: T0 });
    });
    await using honest = await joinAgent(server.url, "tokyo");
    await until(() => honest.sendHeartbeat(aHeartbeat("tokyo"))); // the hub listens
    agents.length = 0;
    const ghost = { ...aHeartbeat("tokyo"), agent_id: "x".repeat(300_000) };
    attacker.publish("sonde.heartbeats.tokyo", sealed("heartbeat", "tokyo", asked(ghost)));
    attacker.publish(
      "sonde.heartbeats.tokyo",
      sealed("heartbeat", "tokyo", asked(aHeartbeat("paris"))),
    );
    const foreign = JSON.stringify({ reports: [aRunReport("paris")] });
    attacker.publish("sonde.results.tokyo", sealed("reports", "tokyo", foreign));
    await attacker.flush();
    const books = await hub.consumeReports(async (batch) => {
      reports.push(...batch.map(({ run_id }) => run_id));
    });
    await until(() => {
      expect(dropped.filter((kind) => kind === "heartbeat")).toHaveLength(2);
      expect(dropped).toContain("reports");
    });
    expect([...agents, ...reports]).toEqual([]);
    await ears.drain();
    await books.drain();
  });

  it("disturbs neither paris nor tokyo", async () => {
    for (const location of ["paris", "tokyo"]) {
      await using agent = await joinAgent(server.url, location);
      await using other = await joinHub(server.url);
      await (await startWork(other, agent, location)).goesOn();
    }
  });

  const stored = async () => {
    const manager = await jetstreamManager(observer);
    const held = ({ state, config }: StreamInfo) => [state.messages, config.subjects];
    const [ticks, reports] = [
      await manager.streams.info("SONDE_TICKS"),
      await manager.streams.info("SONDE_RESULTS"),
    ];
    const consumers = [];
    for await (const { name } of manager.consumers.list("SONDE_TICKS")) consumers.push(name);
    return { ticks: held(ticks), reports: reports.state.messages, consumers: consumers.toSorted() };
  };
});

/** Returns the subject's name in the hub's account. */
const inHubOf = (subject: string): string => subject.replace("sonde.api.", "$JS.API.");
