// Messages on NATS, as seen and sent by somebody with every right on the bus but no key.
// @module-tag slow
import { connect, headers as newHeaders } from "@nats-io/transport-node";
import type { Msg, NatsConnection } from "@nats-io/transport-node";
import { jetstreamManager } from "@nats-io/jetstream";
import { describe, expect, it } from "vitest";
import { createHeartbeats } from "../../../src/agent/heartbeats.ts";
import { createHubClock } from "../../../src/agent/hub-clock.ts";
import { createAgentMetrics } from "../../../src/agent/metrics.ts";
import type { Bus } from "../../../src/bus/bus.ts";
import type { MessageKind } from "../../../src/bus/delivery.ts";
import { answerPlaceOf, placeOf, sealMessage } from "../../../src/bus/nats/sealing.ts";
import { createKeyRing } from "../../../src/compose/location-keys.ts";
import { systemClock } from "../../../src/runtime/clock.ts";
import { createLogger } from "../../../src/runtime/logger.ts";
import { Registry } from "../../../src/runtime/metrics.ts";
import { startNatsServer } from "../../support/nats-server.ts";
import { T0 } from "../../support/runs.ts";
import { until } from "../../support/until.ts";
import { aHeartbeat, aRunReport, aTick, asked, connectTo, sealed, sealerOf } from "../buses.ts";

const PATIENT = { timeout: 30_000 };
const HERE = "here";
const SECRET = "hush-marker";
const { sealerOf: otherKeys } = createKeyRing(() => [new Uint8Array(32).fill(9)]);

const request = { location_id: HERE, run_id: "run", result_id: "result" };

/** Starts a hub, an agent, and a client that hears everything. */
async function startBus(agentOptions: Parameters<typeof connectTo>[1] = {}) {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startNatsServer());
  const dropped: MessageKind[] = [];
  const lines: string[] = [];
  const log = createLogger("warn", { write: (line) => void lines.push(line) });
  const hub = stack.use(
    await connectTo(server.url, { log, onDropped: (kind) => dropped.push(kind) }),
  );
  const agent = stack.use(await connectTo(server.url, { locationId: HERE, ...agentOptions }));
  const client: NatsConnection = stack.use(await connect({ servers: server.url }));
  const heard: Msg[] = [];
  // Does not listen below sonde.api: a listener there would delay the "no responders" answer.
  for (const kind of ["ticks", "results", "heartbeats", "credentials", "inbox"])
    client.subscribe(`sonde.${kind}.>`, {
      callback: (_, message) => {
        // The hub asks with an empty message whether a stream takes any.
        if (!message.subject.endsWith(".~")) heard.push(message);
      },
    });
  await client.flush();
  const running = stack.move();
  return {
    server,
    hub,
    agent,
    client,
    heard,
    dropped,
    /** The lines of the hub's log. */
    logged: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

type Bussed = Awaited<ReturnType<typeof startBus>>;

const taker = (bus: Bus, taken: string[]) =>
  bus.consumeTicks(HERE, async (ticks) => {
    taken.push(...ticks.map(({ result_id }) => result_id));
  });

const recorder = (bus: Bus, recorded: string[]) =>
  bus.consumeReports(async (reports) => {
    recorded.push(...reports.map(({ run_id }) => run_id));
  });

it("messages show only their kind, location and key id on the wire", async () => {
  await using bus = await startBus();
  const { hub, agent, heard } = bus;
  await hub.consumeHeartbeats(async (_, answer) => answer({ now: T0 }));
  await hub.consumeCredentialsRequests(async (_, answer) => answer({ unable: SECRET }));
  const tick = aTick({ location_id: HERE, environment: { name: SECRET } });
  const report = { ...aRunReport(HERE), agent_id: SECRET };
  await hub.publishTicks([tick]);
  await agent.publishReports([report]);
  await until(async () => {
    expect(await agent.sendHeartbeat({ ...aHeartbeat(HERE), agent_id: SECRET })).toEqual({
      now: T0,
    });
    expect(await agent.requestCredentials(request)).toEqual({ unable: SECRET });
  });
  const kinds = ["ticks", "results", "heartbeats", "credentials"].map((kind) => `sonde.${kind}.`);
  await until(() => {
    for (const kind of [...kinds, "sonde.inbox."])
      expect(heard.some(({ subject }) => subject.startsWith(kind))).toBe(true);
  });
  for (const { data, headers, subject } of heard) {
    const wire = Buffer.from(data).toString("latin1");
    const header = Buffer.from(wire.split(".")[0] ?? "", "base64url").toString();
    for (const hidden of [SECRET, tick.result_id, report.run_id, "target.test", "agent_id", "now"])
      expect([wire, header, ...(headers ?? [])].join("\n"), subject).not.toContain(hidden);
    // The server's own answers also come to the agent's inbox.
    if (subject.startsWith("sonde.inbox.") && !header.startsWith("{")) continue;
    expect(JSON.parse(header)).toEqual({
      alg: "dir",
      enc: "A256GCM",
      kid: sealerOf(HERE).keyIds[0],
      place: expect.stringMatching(/^[a-z ]+\/here(\/[\w-]{36})?$/) as string,
    });
  }
});

const changed = (data: Uint8Array): Uint8Array =>
  data.map((byte, at) => (at === data.length - 10 ? ~byte : byte));

/** What an attacker sends in place of a message with this text. */
const forgeries: readonly [
  string,
  (kind: MessageKind, text: string, original: Uint8Array) => Uint8Array,
][] = [
  ["unsealed", (_, text) => Buffer.from(text)],
  ["sealed with another key", (kind, text) => otherKeys(HERE).seal(text, placeOf(kind, HERE))],
  ["with a changed byte", (_, __, original) => changed(original)],
  [
    "moved from another location",
    (kind, text) => sealerOf("there").seal(text, placeOf(kind, "there")),
  ],
  [
    "of another kind",
    (kind, text) =>
      sealerOf(HERE).seal(text, placeOf(kind === "ticks" ? "reports" : "ticks", HERE)),
  ],
];

describe.each(forgeries)("a message %s", (_, forge) => {
  it("is refused by the hub, counted, and logged once with what to do", async () => {
    await using bus = await startBus();
    const { hub, agent, client, dropped, logged } = bus;
    const [recorded, seen]: [string[], string[]] = [[], []];
    await recorder(hub, recorded);
    await hub.consumeHeartbeats(async ({ agent_id }, answer) => {
      seen.push(agent_id);
      answer({ now: T0 });
    });
    await until(async () =>
      expect(await agent.sendHeartbeat(aHeartbeat(HERE))).toEqual({ now: T0 }),
    );
    seen.length = 0;
    const forged = (kind: MessageKind, text: string): Uint8Array =>
      forge(kind, text, sealed(kind, HERE, text));
    for (let n = 0; n < 3; n += 1) {
      const report = JSON.stringify({ reports: [aRunReport(HERE)] });
      await client.request(`sonde.results.${HERE}`, forged("reports", report), PATIENT);
    }
    client.publish(`sonde.heartbeats.${HERE}`, forged("heartbeat", asked(aHeartbeat(HERE))));
    await client.flush();
    const sound = aRunReport(HERE);
    await agent.publishReports([sound]);
    await until(() => {
      expect(recorded).toEqual([sound.run_id]);
      expect(dropped.toSorted()).toEqual(["heartbeat", "reports", "reports", "reports"]);
    });
    expect(seen).toEqual([]);
    expect(logged()).toEqual([
      expect.objectContaining({
        level: "warn",
        location_id: HERE,
        msg: "message dropped: set SONDE_LOCATION_KEY of the location's agents to the key that `sonde locations env here` prints",
      }),
    ]);
  });

  it("orders no run, and does not disturb agents with the right key", async () => {
    await using bus = await startBus();
    const { hub, agent, client } = bus;
    await hub.consumeHeartbeats(async (__, answer) => answer({ now: T0 }));
    await until(async () =>
      expect(await agent.sendHeartbeat(aHeartbeat(HERE))).toEqual({ now: T0 }),
    );
    const text = JSON.stringify({ ticks: [aTick({ location_id: HERE })] });
    const message = forge("ticks", text, sealed("ticks", HERE, text));
    await client.request(`sonde.ticks.${HERE}`, message, PATIENT);
    const taken: string[] = [];
    await taker(agent, taken);
    const sound = aTick({ location_id: HERE });
    await hub.publishTicks([sound]);
    await until(() => expect(taken).toEqual([sound.result_id]));
    expect(agent.status()).toMatchObject({ connected: true });
    expect(await storedTicks(bus)).toBe(1);
  });
});

describe("an agent with a wrong key", () => {
  it("reports it, and leaves the ticks to another agent", async () => {
    await using bus = await startBus({ sealerOf: otherKeys });
    const { hub, agent: wrong, server } = bus;
    const [taken, never]: [string[], string[]] = [[], []];
    await taker(wrong, never);
    const ticks = Array.from({ length: 3 }, () => aTick({ location_id: HERE }));
    for (const tick of ticks) await hub.publishTicks([tick]);
    const [theirs, ours] = [otherKeys(HERE), sealerOf(HERE)].map(({ keyIds }) => keyIds[0]);
    await until(() =>
      expect(wrong.status()).toEqual({
        connected: false,
        detail: `NATS at ${server.url}: SONDE_LOCATION_KEY does not open what the hub sends (sealed with the key ${ours} instead of ${theirs}): set it to the key that \`sonde locations env here\` prints`,
      }),
    );
    await using right = await connectTo(server.url, { locationId: HERE });
    await taker(right, taken);
    const ids = ticks.map(({ result_id }) => result_id);
    await until(() => expect(taken.toSorted()).toEqual(ids.toSorted()));
    await until(async () => expect(await storedTicks(bus)).toBe(0));
    expect(never).toEqual([]);
  });

  it("counts unanswered heartbeats, whatever else it reports", async () => {
    await using bus = await startBus({ sealerOf: otherKeys });
    const { hub, agent } = bus;
    await hub.consumeHeartbeats(async (_, answer) => answer({ now: T0 }));
    await taker(agent, []);
    await hub.publishTicks([aTick({ location_id: HERE })]);
    await until(() => expect(agent.status().connected).toBe(false));
    const metrics = createAgentMetrics(new Registry());
    const heartbeats = createHeartbeats({
      bus: agent,
      clock: createHubClock(systemClock),
      log: createLogger("silent"),
      metrics,
      locationId: HERE,
      agentId: "agent-1",
      version: "0.0.0",
      concurrency: 1,
      condition: () => ({ state: "online", in_flight: 0, held: 0 }),
      duty: { follow: () => false },
    });
    await heartbeats.send();
    const [unanswered] = (await metrics.unansweredHeartbeats.get()).values;
    expect(unanswered?.value).toBe(1);
  });

  it("has no answer from the hub, which logs why", async () => {
    await using bus = await startBus({ sealerOf: otherKeys });
    const { hub, agent, logged } = bus;
    await hub.consumeHeartbeats(async (_, answer) => answer({ now: T0 }));
    await until(async () => {
      expect(await agent.sendHeartbeat(aHeartbeat(HERE))).toBeNull();
      expect(logged()).toHaveLength(1);
    });
    expect(logged()[0]?.["err"]).toMatchObject({ message: expect.stringContaining("instead of") });
  });
});

describe("an answer", () => {
  /** Answers in place of the hub. */
  async function answered(
    bus: Bussed,
    respond: (question: Msg, nonce: string) => Uint8Array,
  ): Promise<unknown> {
    const place = placeOf("heartbeat", HERE);
    bus.client.subscribe(`sonde.heartbeats.${HERE}`, {
      callback(_, message) {
        const text = sealerOf(HERE).open(message.data, place);
        const { nonce } = JSON.parse(text) as { readonly nonce: string };
        message.respond(respond(message, nonce));
      },
    });
    await bus.client.flush();
    return bus.agent.sendHeartbeat(aHeartbeat(HERE));
  }
  const lie = JSON.stringify({ now: T0 + 3_600_000 });
  const first = "11111111-1111-1111-1111-111111111111";

  it.each<[string, (question: Msg, nonce: string) => Uint8Array]>([
    ["unsealed", () => Buffer.from(lie)],
    [
      "to an earlier question",
      () => sealerOf(HERE).seal(lie, answerPlaceOf("heartbeat", HERE, first)),
    ],
    [
      "under another key",
      (_, nonce) => otherKeys(HERE).seal(lie, answerPlaceOf("heartbeat", HERE, nonce)),
    ],
    [
      "to another location",
      (_, nonce) => sealerOf("there").seal(lie, answerPlaceOf("heartbeat", "there", nonce)),
    ],
    [
      "to another kind of question",
      (_, nonce) => sealerOf(HERE).seal(lie, answerPlaceOf("credentials request", HERE, nonce)),
    ],
    ["that is the question", ({ data }) => data],
  ])("%s is refused", async (_, respond) => {
    await using bus = await startBus();
    expect(await answered(bus, respond)).toBeNull();
  });

  it("is not sent to a subject the asker chose", async () => {
    await using bus = await startBus();
    const { hub, agent, client } = bus;
    let questions = 0;
    await hub.consumeHeartbeats(async (_, answer) => {
      questions += 1;
      answer({ now: T0 });
    });
    const heard: string[] = [];
    client.subscribe(">", { callback: (_, { subject }) => void heard.push(subject) });
    const replies = [
      "_INBOX.x",
      "sonde.inbox.there.x",
      "sonde.ticks.here",
      "$JS.API.STREAM.PURGE.SONDE_TICKS",
    ];
    const data = sealed("heartbeat", HERE, asked(aHeartbeat(HERE)));
    await until(async () => expect(await agent.sendHeartbeat(aHeartbeat(HERE))).not.toBeNull());
    questions = 0;
    for (const reply of replies) client.publish(`sonde.heartbeats.${HERE}`, data, { reply });
    await client.flush();
    await until(() => expect(questions).toBe(replies.length));
    expect(await agent.sendHeartbeat(aHeartbeat(HERE))).toEqual({ now: T0 });
    expect(heard.filter((subject) => replies.includes(subject))).toEqual([]);
  });
});

it("a message id computed without the key does not block a report", async () => {
  await using bus = await startBus();
  const { hub, agent, client } = bus;
  const report = aRunReport(HERE);
  const key = `${report.run_id} ${report.agent_id}`;
  const { id } = sealMessage(otherKeys(HERE), placeOf("reports", HERE), { key, text: "" });
  const foreign = newHeaders();
  foreign.set("Nats-Msg-Id", id);
  await client.request(`sonde.results.${HERE}`, "", { ...PATIENT, headers: foreign });
  await agent.publishReports([report]);
  await agent.publishReports([report]);
  const recorded: string[] = [];
  await recorder(hub, recorded);
  await until(() => expect(recorded).toEqual([report.run_id]));
});

async function storedTicks({ client }: Bussed): Promise<number> {
  const manager = await jetstreamManager(client);
  return (await manager.streams.info("SONDE_TICKS")).state.messages;
}
