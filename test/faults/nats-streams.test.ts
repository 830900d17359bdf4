// The streams in NATS: created and updated at start, never at the cost of messages; and what
// happens when they are full.
import { jetstreamManager } from "@nats-io/jetstream";
import type { StreamConfig } from "@nats-io/jetstream";
import { connect, nanos } from "@nats-io/transport-node";
import { describe, expect, it } from "vitest";
import type { StreamSettings } from "../../src/bus/nats/streams.ts";
import { isFull } from "../../src/model/errors.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import { aRunReport, aTick, connectTo, newLocation } from "../bus/buses.ts";
import { startNatsServer } from "../support/nats-server.ts";
import { makeFolder } from "../support/process.ts";
import { announcedSeed, between, randomOf } from "../support/seed.ts";

const MIB = 1024 * 1024;

const settings = (change: Partial<StreamSettings> = {}): StreamSettings => ({
  ticksMiB: 4,
  resultsMiB: 8,
  replicas: undefined,
  ...change,
});

async function administer(url: string) {
  const connection = await connect({ servers: url });
  const manager = await jetstreamManager(connection);
  return {
    manager,
    async config(stream: string) {
      const { config } = await manager.streams.info(stream);
      const { discard, max_bytes, max_age, num_replicas } = config;
      return { discard, max_bytes, max_age, num_replicas };
    },
    state: async (stream: string) => (await manager.streams.info(stream)).state,
    [Symbol.asyncDispose]: () => connection.close(),
  };
}

/** The stream as the first versions of Sonde created it. */
const previous: Partial<StreamConfig> & { name: string } = {
  name: "SONDE_RESULTS",
  subjects: ["sonde.results.*"],
  retention: "workqueue",
  storage: "file",
  discard: "old",
  max_age: nanos(7 * 86_400_000),
  duplicate_window: nanos(120_000),
  num_replicas: 1,
};

/** Starts a hub's bus and returns what it logs. */
async function start(url: string, streams: StreamSettings): Promise<string[]> {
  const lines: string[] = [];
  const log = createLogger("info", { write: (line) => lines.push(line) });
  await using _ = await connectTo(url, { streams, log });
  return lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
}

describe("a start", () => {
  it("creates streams that refuse messages beyond their limit, even several hubs at once", async () => {
    await using server = await startNatsServer();
    const logs = await Promise.all(Array.from({ length: 4 }, () => start(server.url, settings())));
    expect(logs.flat()).toEqual([]);
    await using nats = await administer(server.url);
    const common = { discard: "new", num_replicas: 1 };
    const minutes = nanos(60_000);
    expect(await nats.config("SONDE_TICKS")).toEqual({
      ...common,
      max_bytes: 4 * MIB,
      max_age: 5 * minutes,
    });
    expect(await nats.config("SONDE_RESULTS")).toEqual({
      ...common,
      max_bytes: 8 * MIB,
      max_age: 7 * 24 * 60 * minutes,
    });
  });

  it("updates the streams of the previous version, and keeps their messages", async () => {
    await using server = await startNatsServer();
    await using nats = await administer(server.url);
    await nats.manager.streams.add(previous);
    await nats.manager.jetstream().publish("sonde.results.here", "a message");
    const logs = await Promise.all([start(server.url, settings()), start(server.url, settings())]);
    expect(new Set(logs.flat())).toEqual(new Set(["stream updated"]));
    expect(await nats.config("SONDE_RESULTS")).toMatchObject({
      discard: "new",
      max_bytes: 8 * MIB,
    });
    expect(await nats.state("SONDE_RESULTS")).toMatchObject({ messages: 1 });
    expect(await start(server.url, settings())).toEqual([]);
  });

  it("lowers a limit only once the stream holds at most half of it", async () => {
    await using server = await startNatsServer();
    await using nats = await administer(server.url);
    await start(server.url, settings());
    for (let n = 0; n < 5; n += 1)
      await nats.manager.jetstream().publish("sonde.results.here", new Uint8Array(MIB / 2));
    expect(await start(server.url, settings({ resultsMiB: 2 }))).toEqual([
      "stream keeps its limit (8 MiB), since it holds 3 MiB: restart this process once the stream holds at most half of SONDE_NATS_RESULTS_MIB=2",
    ]);
    expect(await nats.state("SONDE_RESULTS")).toMatchObject({ messages: 5 });
    expect(await nats.config("SONDE_RESULTS")).toMatchObject({ max_bytes: 8 * MIB });
    await nats.manager.streams.purge("SONDE_RESULTS", { keep: 1 });
    expect(await start(server.url, settings({ resultsMiB: 2 }))).toEqual(["stream updated"]);
    expect(await nats.state("SONDE_RESULTS")).toMatchObject({ messages: 1 });
  });

  it("keeps the replicas and the age of results that an operator set", async () => {
    await using server = await startNatsServer();
    await using nats = await administer(server.url);
    const day = nanos(86_400_000);
    // A single server accepts the number of replicas, and ignores it.
    await nats.manager.streams.add({ ...previous, max_age: 30 * day });
    await nats.manager.streams.update("SONDE_RESULTS", { num_replicas: 3 });
    await start(server.url, settings());
    expect(await nats.config("SONDE_RESULTS")).toEqual({
      discard: "new",
      max_bytes: 8 * MIB,
      max_age: 30 * day,
      num_replicas: 3,
    });
  });

  it("without room on the server names the settings, and leaves existing streams alone", async () => {
    const config = "jetstream { max_file_store: 16MB }";
    await using server = await startNatsServer({ config });
    await expect(start(server.url, settings({ resultsMiB: 32 }))).rejects.toThrow(
      `NATS at ${server.url} did not create the streams of Sonde (insufficient storage resources available): its JetStream needs room for SONDE_NATS_TICKS_MIB=4 and SONDE_NATS_RESULTS_MIB=32 (see max_file_store), and one server`,
    );
    await start(server.url, settings());
    expect(await start(server.url, settings({ resultsMiB: 32 }))).toEqual([
      "stream not updated: insufficient storage resources available; give JetStream more storage (max_file_store), or lower SONDE_NATS_RESULTS_MIB",
    ]);
    await using nats = await administer(server.url);
    expect(await nats.config("SONDE_RESULTS")).toMatchObject({ max_bytes: 8 * MIB });
  });
});

describe("without storage for a stream", () => {
  const ADVICE =
    "JetStream has no storage for SONDE_TICKS: make room on the disk of nats-server, or raise its max_file_store or the max_file of the account";
  // A reload turns off the JetStream of the command line.
  const accountWith = (storeDir: string, jetstream: string): string =>
    `jetstream { store_dir: "${storeDir}", max_file_store: 1GB }
accounts { A { jetstream: ${jetstream}, users: [{ user: "a", password: "b" }] } }
no_auth_user: a`;

  async function openBus(url: string) {
    const lines: string[] = [];
    const log = createLogger("error", { write: (line) => lines.push(line) });
    const bus = await connectTo(url, { streams: settings(), log });
    const location_id = newLocation();
    const publish = (): Promise<unknown> =>
      bus.publishTicks([aTick({ location_id })]).catch((cause: unknown) => cause);
    return { ...bus, lines, publish };
  }

  it("a restarted server is answered by advice on storage, not on the stream", async () => {
    await using server = await startNatsServer();
    await using bus = await openBus(server.url);
    await server.kill();
    await server.restart({ config: "jetstream { max_file_store: 2MB }" });
    expect(isFull(await bus.publish())).toBe(true);
    expect(bus.lines).toEqual([expect.stringContaining(ADVICE)]);
    expect(bus.status()).toMatchObject({ degraded: expect.stringContaining(ADVICE) });
  });

  it("an account whose limit was lowered is answered in the same way", async () => {
    using folder = makeFolder();
    const config = accountWith(folder.path, "enabled");
    await using server = await startNatsServer({ jetstream: false, config });
    await using bus = await openBus(server.url);
    server.reload(accountWith(folder.path, "{ max_file: 1KB }"));
    await expect.poll(async () => isFull(await bus.publish()), { timeout: 20_000 }).toBe(true);
    expect(bus.lines).toEqual([expect.stringContaining(ADVICE)]);
    expect(bus.status()).toMatchObject({ degraded: expect.stringContaining(ADVICE) });
  });
});

describe("a full stream", () => {
  it("refuses ticks but no reports, logs it once, and accepts ticks when there is room", async () => {
    await using server = await startNatsServer();
    const lines: string[] = [];
    const log = createLogger("info", { write: (line) => lines.push(line) });
    const refused: string[] = [];
    await using bus = await connectTo(server.url, {
      streams: settings({ ticksMiB: 1 }),
      log,
      onRefused: (kind) => refused.push(kind),
    });
    const location_id = newLocation();
    // A megabyte holds ten at most.
    const ticks = Array.from({ length: 25 }, () =>
      aTick({ location_id, context: { FILLER: "x".repeat(100_000) } }),
    );
    const outcomes = await Promise.allSettled(ticks.map((tick) => bus.publishTicks([tick])));
    const causes = outcomes.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
    expect(causes.length).toBeGreaterThanOrEqual(15);
    expect(causes.every(isFull)).toBe(true);
    expect(refused).toHaveLength(causes.length);
    expect(lines).toEqual([
      expect.stringContaining(
        "SONDE_TICKS has no room for ticks: start agents where there are none, or raise SONDE_NATS_TICKS_MIB",
      ),
    ]);
    expect(bus.status()).toMatchObject({
      connected: true,
      degraded: expect.stringContaining("SONDE_NATS_TICKS_MIB"),
    });

    await bus.publishReports([aRunReport(location_id)]);
    const taken = new Set<string>();
    await bus.consumeTicks(location_id, async (batch) => {
      for (const { result_id } of batch) taken.add(result_id);
    });
    await expect
      .poll(async () => {
        for (const tick of ticks.filter(({ result_id }) => !taken.has(result_id)))
          await bus.publishTicks([tick]).catch(() => undefined);
        return taken.size;
      })
      .toBe(ticks.length);
  });

  it("loses no message that it has accepted", async (test) => {
    const random = randomOf(await announcedSeed(test));
    await using server = await startNatsServer();
    await using bus = await connectTo(server.url, { streams: settings({ ticksMiB: 1 }) });
    await using nats = await administer(server.url);
    const location_id = newLocation();
    const tick = (bytes: number) =>
      aTick({ location_id, context: { FILLER: "x".repeat(Math.floor(bytes)) } });
    for (let round = 0; round < 10; round += 1) {
      await nats.manager.streams.purge("SONDE_TICKS");
      let stored = 0;
      const publish = (bytes: number): Promise<boolean> =>
        bus.publishTicks([tick(bytes)]).then(
          () => (stored += 1) > 0,
          () => false,
        );
      while (await publish(between(random, 40_000, 80_000)));
      for (let refusals = 0; refusals < 20;)
        if (!(await publish(between(random, 0, 3000)))) refusals += 1;
      const { messages, bytes } = await nats.state("SONDE_TICKS");
      expect(messages).toBe(stored);
      expect(bytes % 256).toBe(0);
    }
  });
});
