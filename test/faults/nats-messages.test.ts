// What the bus does with messages that are broken, too large, or not the sender's to send.
import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import type { NatsConnection } from "@nats-io/transport-node";
import { describe, expect, it } from "vitest";
import type { Bus } from "../../src/bus/bus.ts";
import type { MessageKind } from "../../src/bus/delivery.ts";
import { answerPlaceOf, placeOf } from "../../src/bus/nats/sealing.ts";
import { locationOfSubject } from "../../src/bus/nats/topology.ts";
import type { Heartbeat } from "../../src/model/heartbeat.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import {
  aHeartbeat,
  aRunReport,
  aTick,
  asked,
  connectTo,
  newLocation,
  sealed,
  sealerOf,
} from "../bus/buses.ts";
import { T0 } from "../support/runs.ts";
import { startNatsServer } from "../support/nats-server.ts";
import { until } from "../support/until.ts";

/**
 * Options of a request. By default the client waits for a second, and this process may stall for
 * longer.
 */
const PATIENT = { timeout: 30_000 };

/** Returns what the bus answers to a question when the only reply has this text. */
async function answerTo(
  ask: (bus: Bus) => Promise<unknown>,
  kind: MessageKind,
  subject: string,
  text: string,
): Promise<unknown> {
  await using server = await startNatsServer();
  await using bus = await connectTo(server.url);
  await using client = await connect({ servers: server.url });
  let replies = 0;
  client.subscribe(subject, {
    callback(_, message) {
      replies += 1;
      const locationId = locationOfSubject(subject);
      const sealer = sealerOf(locationId);
      const { nonce } = JSON.parse(sealer.open(message.data, placeOf(kind, locationId))) as {
        nonce: string;
      };
      message.respond(sealer.seal(text, answerPlaceOf(kind, locationId, nonce)));
    },
  });
  await client.flush();
  const answer = await ask(bus);
  await until(() => expect(replies).toBe(1));
  return answer;
}

describe("a message that does not fit its subject", () => {
  const here = "here";
  const secret = "s3cret";
  const broken: [string, string][] = [
    ["no JSON", `{"reports":[${secret}`],
    ["empty", ""],
    ["null", "null"],
    ["without reports", `{"ticks":[]}`],
    ["with a malformed report", `{"reports":[{"run_id":"${secret}"}]}`],
    ["of another location", JSON.stringify({ reports: [aRunReport("there")] })],
  ];

  it.each(broken)("(%s) is dropped permanently, and never quoted", async (_, text) => {
    await using server = await startNatsServer();
    const lines: string[] = [];
    const log = createLogger("trace", { write: (line) => lines.push(line) });
    const dropped: MessageKind[] = [];
    await using bus = await connectTo(server.url, {
      log,
      onDropped: (kind) => dropped.push(kind),
    });
    await using client = await connect({ servers: server.url });
    // The answer comes when the message is stored.
    await client.request(`sonde.results.${here}`, sealed("reports", here, text), PATIENT);
    const sound = aRunReport(here);
    await bus.publishReports([sound]);
    const recorded: string[] = [];
    const consumer = await bus.consumeReports(async (reports) => {
      recorded.push(...reports.map((report) => report.run_id));
    });
    await until(() => expect(recorded).toEqual([sound.run_id]));
    expect(dropped).toEqual(["reports"]);
    await consumer.drain();
    await until(async () => expect(await storedIn(client, "SONDE_RESULTS")).toBe(0));
    expect(lines.join()).toContain("message dropped");
    expect(lines.join()).not.toContain(secret);
  });

  it("is dropped among heartbeats too", async () => {
    await using server = await startNatsServer();
    await using bus = await connectTo(server.url);
    await using client = await connect({ servers: server.url });
    const seen: Heartbeat[] = [];
    await bus.consumeHeartbeats(async (heartbeat, answer) => {
      seen.push(heartbeat);
      answer({ now: T0 });
    });
    const subject = `sonde.heartbeats.${here}`;
    await until(async () => {
      for (const text of ["{", "null", asked({}), asked(aHeartbeat("there"))])
        client.publish(subject, sealed("heartbeat", here, text));
      client.publish(subject, sealed("heartbeat", here, JSON.stringify(aHeartbeat(here))));
      await client.flush();
      await bus.sendHeartbeat(aHeartbeat(here));
      expect(seen).not.toEqual([]);
    });
    expect(new Set(seen.map((heartbeat) => heartbeat.location_id))).toEqual(new Set([here]));
  });

  it("is counted each time, and logged once a minute", async () => {
    await using server = await startNatsServer();
    const lines: string[] = [];
    const log = createLogger("warn", { write: (line) => lines.push(line) });
    const dropped: MessageKind[] = [];
    await using bus = await connectTo(server.url, { log, onDropped: (kind) => dropped.push(kind) });
    await using client = await connect({ servers: server.url });
    await bus.consumeHeartbeats(async (_, answer) => answer({ now: T0 }));
    await until(async () => expect(await bus.sendHeartbeat(aHeartbeat(here))).not.toBeNull());
    for (let sent = 0; sent < 100; sent += 1) {
      client.publish(`sonde.heartbeats.${here}`, sealed("heartbeat", here, "{"));
      client.publish(`sonde.heartbeats.${here}`, "not sealed");
    }
    await until(() => expect(dropped).toHaveLength(200));
    expect(lines).toHaveLength(2);
  });
});

describe("a heartbeat", () => {
  it("without a reply subject is accepted", async () => {
    await using server = await startNatsServer();
    await using bus = await connectTo(server.url);
    await using client = await connect({ servers: server.url });
    const seen: Heartbeat[] = [];
    await bus.consumeHeartbeats(async (heartbeat, answer) => {
      answer({ now: T0 });
      seen.push(heartbeat);
    });
    const heartbeat = aHeartbeat("here");
    await until(() => {
      client.publish("sonde.heartbeats.here", sealed("heartbeat", "here", asked(heartbeat)));
      expect(seen).not.toEqual([]);
    });
    expect(seen[0]).toEqual(heartbeat);
  });

  it.each(["", "{", "{}", `{"now":"soon"}`, `{"now":-1}`, `{"now":1e30}`])(
    "has no answer when the reply is malformed: %s",
    async (text) => {
      const ask = (bus: Bus) => bus.sendHeartbeat(aHeartbeat("here"));
      expect(await answerTo(ask, "heartbeat", "sonde.heartbeats.here", text)).toBeNull();
    },
  );
});

describe("a request for credentials", () => {
  const request = { location_id: "here", run_id: "run", result_id: "result" };

  it("is dropped if it is malformed, overlong or of another location", async () => {
    await using server = await startNatsServer();
    const dropped: MessageKind[] = [];
    await using bus = await connectTo(server.url, { onDropped: (kind) => dropped.push(kind) });
    await using client = await connect({ servers: server.url });
    const seen: unknown[] = [];
    await bus.consumeCredentialsRequests(async (asked, answer) => {
      seen.push(asked);
      answer({});
    });
    const bad = [
      "{",
      asked({ ...request, location_id: "there" }),
      asked({ location_id: "here", run_id: "run" }),
      asked({ ...request, result_id: "x".repeat(101) }),
    ];
    await until(async () => expect(await bus.requestCredentials(request)).toEqual({}));
    for (const text of bad)
      client.publish("sonde.credentials.here", sealed("credentials request", "here", text));
    await client.flush();
    await until(() => expect(dropped).toEqual(bad.map(() => "credentials request")));
    expect(new Set(seen.map((asked) => JSON.stringify(asked)))).toEqual(
      new Set([JSON.stringify(request)]),
    );
  });

  it.each(["", "{", `{"unable":1}`, `{"authorization":{}}`])(
    "has no answer when the reply is malformed: %s",
    async (text) => {
      const ask = (bus: Bus) => bus.requestCredentials(request);
      expect(await answerTo(ask, "credentials request", "sonde.credentials.here", text)).toBeNull();
    },
  );
});

describe("many questions of one location", () => {
  it("are handled a few at a time, and those that nobody waits for are dropped", async () => {
    await using server = await startNatsServer();
    const lines: string[] = [];
    const log = createLogger("warn", { write: (line) => lines.push(line) });
    await using hub = await connectTo(server.url, { log });
    const flood = aHeartbeat("flood");
    let begun = 0;
    using ending = new DisposableStack();
    const end = Promise.withResolvers<void>();
    ending.defer(() => end.resolve());
    await hub.consumeHeartbeats(async ({ location_id }, answer) => {
      if (location_id !== flood.location_id) return answer({ now: T0 });
      begun += 1;
      await end.promise;
    });
    await until(async () => expect(await hub.sendHeartbeat(aHeartbeat("calm"))).not.toBeNull());
    const flooding = Array.from({ length: 100 }, () => hub.sendHeartbeat(flood));
    await until(async () => expect(await hub.sendHeartbeat(aHeartbeat("calm"))).not.toBeNull());
    expect(begun).toBe(4);
    expect(new Set(await Promise.all(flooding))).toEqual(new Set([null]));
    end.resolve();
    await until(async () => {
      const handled = begun;
      await hub.sendHeartbeat(flood);
      expect(begun).toBe(handled + 1);
    });
    expect(lines).toEqual([]);
  });
});

describe("a batch too large for the server", () => {
  const bulky = (location_id: string, bytes: number) =>
    aTick({ location_id, context: { text: "ü".repeat(bytes / 2) } });

  it("is split, and split the same way when it is published again", async () => {
    await using server = await startNatsServer({
      config: "max_payload: 20000",
    });
    await using bus = await connectTo(server.url);
    await using client = await connect({ servers: server.url });
    const location_id = newLocation();
    const ticks = Array.from({ length: 10 }, () => bulky(location_id, 5000));
    await bus.publishTicks(ticks);
    const stored = await storedIn(client, "SONDE_TICKS");
    expect(stored).toBeGreaterThan(1);
    expect(stored).toBeLessThan(10);
    await bus.publishTicks(ticks);
    expect(await storedIn(client, "SONDE_TICKS")).toBe(stored);
    const taken: string[] = [];
    await bus.consumeTicks(location_id, async (batch) => {
      taken.push(...batch.map((tick) => tick.result_id));
    });
    await until(() => expect(new Set(taken)).toEqual(new Set(ticks.map((tick) => tick.result_id))));
  });

  it("is published without the item that fits into no message; that item is reported", async () => {
    await using server = await startNatsServer({
      config: "max_payload: 20000",
    });
    await using bus = await connectTo(server.url);
    const location_id = newLocation();
    const [small, large] = [aTick({ location_id }), bulky(location_id, 30_000)];
    await expect(bus.publishTicks([large, small])).rejects.toMatchObject({
      code: "invalid",
      message: expect.stringContaining(`max_payload in its configuration): ${large.result_id}`),
    });
    const taken: string[] = [];
    await bus.consumeTicks(location_id, async (batch) => {
      taken.push(...batch.map((tick) => tick.result_id));
    });
    await until(() => expect(taken).toEqual([small.result_id]));
  });
});

describe("many large messages that wait", () => {
  const publishLarge = async (bus: Bus, count: number): Promise<void> => {
    for (let published = 0; published < count; published += 10) {
      const reports = Array.from({ length: 10 }, () => aRunReport("here"));
      for (const { results } of reports)
        for (const { meta } of results) meta.message = "x".repeat(120_000);
      await Promise.all(reports.map((report) => bus.publishReports([report])));
    }
  };

  it("arrive in portions: the server does not disconnect their consumer", async () => {
    // 1/8 of the default, for messages of 1/8 of the largest size.
    await using server = await startNatsServer({ config: "max_pending: 8MB" });
    await using bus = await connectTo(server.url);
    await publishLarge(bus, 250);
    const taken = new Set<string>();
    await bus.consumeReports(async (some) => {
      for (const { run_id } of some) taken.add(run_id);
    });
    await until(() => expect(taken.size).toBe(250));
    expect(bus.connection()?.reconnects).toBe(0);
  });

  it("are left to others by a busy consumer", async () => {
    await using server = await startNatsServer();
    await using client = await connect({ servers: server.url });
    const manager = await jetstreamManager(client);
    await using busy = await connectTo(server.url);
    await using idle = await connectTo(server.url);
    await publishLarge(busy, 500);
    using ending = new DisposableStack();
    const end = Promise.withResolvers<void>();
    ending.defer(() => end.resolve());
    await busy.consumeReports(() => end.promise);
    // It takes no more with 32 MiB, some 277 messages, and the rest of a portion of 60.
    const [least, most] = [270, 340];
    await until(async () => {
      const { num_ack_pending } = await manager.consumers.info("SONDE_RESULTS", "aggregator");
      expect(num_ack_pending).toBeGreaterThan(least);
    });
    const taken = new Set<string>();
    await idle.consumeReports(async (some) => {
      for (const { run_id } of some) taken.add(run_id);
    });
    await until(() => expect(taken.size).toBeGreaterThanOrEqual(500 - most));
  });
});

describe("a batch too large for the stream, as only the server knows", () => {
  const STREAM = "SONDE_RESULTS";

  it("is split until its messages fit, without the item that fits into none", async () => {
    await using server = await startNatsServer();
    await using bus = await connectTo(server.url);
    await using client = await connect({ servers: server.url });
    const manager = await jetstreamManager(client);
    await manager.streams.update(STREAM, { max_msg_size: 20_000 });
    const large = aRunReport("here");
    for (const { meta } of large.results) meta.message = "x".repeat(20_000);
    const batch = Array.from({ length: 40 }, () => aRunReport("here"));
    const reports = batch.toSpliced(7, 0, large);
    for (let time = 1; time <= 2; time += 1)
      await expect(bus.publishReports(reports)).rejects.toMatchObject({
        code: "invalid",
        runIds: [large.run_id],
      });
    const taken: string[] = [];
    await bus.consumeReports(async (some) => {
      taken.push(...some.map(({ run_id }) => run_id));
    });
    const idsOf = batch.map(({ run_id }) => run_id);
    await until(() => expect(taken.toSorted()).toEqual(idsOf.toSorted()));
  });
});

/** Counts the messages in the stream. */
async function storedIn(client: NatsConnection, stream: string): Promise<number> {
  const subject = `$JS.API.STREAM.INFO.${stream}`;
  const answer = await client.request(subject, "", PATIENT);
  return answer.json<{ state: { messages: number } }>().state.messages;
}
