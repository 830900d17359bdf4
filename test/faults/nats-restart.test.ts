// What the bus does when NATS, its store or another process disappears.
import { spawn } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect, errors, nkeys } from "@nats-io/transport-node";
import { describe, expect, it, vi } from "vitest";
import { openNatsLink } from "../../src/bus/nats/connection.ts";
import { awaitJetStream } from "../../src/bus/nats/jetstream.ts";
import { storeMessage } from "../../src/bus/nats/publisher.ts";
import { watchRoom } from "../../src/bus/nats/room.ts";
import { createStreams, prepareStreams } from "../../src/bus/nats/streams.ts";
import { ensureConsumer } from "../../src/bus/nats/durable-consumers.ts";
import { REPORT_CONSUMER, tickSubject } from "../../src/bus/nats/topology.ts";
import type { RunReport } from "../../src/model/result.ts";
import type { Tick } from "../../src/model/tick.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import type { Clock } from "../../src/runtime/clock.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import { retryDelayMs } from "../../src/runtime/retry.ts";
import {
  ACK_WAIT_MS,
  aRunReport,
  aTick,
  connectTo,
  keyOf,
  newLocation,
  quiet,
  STREAMS,
} from "../bus/buses.ts";
import { startNatsServer } from "../support/nats-server.ts";
import { firstOutput } from "../support/programs.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { freePort } from "../support/free-port.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { T0 } from "../support/runs.ts";
import { until } from "../support/until.ts";

/**
 * Stands still, so that a bus's time limit of 5 s never passes, however long a server takes to come
 * back.
 */
const standing: Clock = { ...systemClock, monotonic: () => 0 };

describe("when nats-server is killed and comes back", () => {
  it.each([
    ["with its store", { emptyStore: false }],
    ["with an empty store", { emptyStore: true }],
  ])("%s, publishing and consuming resume", async (_, how) => {
    await using server = await startNatsServer();
    await using hub = await connectTo(server.url);
    await using agent = await connectTo(server.url);
    const location_id = newLocation();
    const ticks: string[] = [];
    const reports: string[] = [];
    await agent.consumeTicks(location_id, async (batch) => {
      ticks.push(...batch.map((tick) => tick.result_id));
    });
    await hub.consumeReports(async (batch) => {
      reports.push(...batch.map((report) => report.run_id));
    });
    const exchange = async (): Promise<void> => {
      const [tick, report] = [aTick({ location_id }), aRunReport(location_id)];
      await hub.publishTicks([tick]);
      await agent.publishReports([report]);
      await until(() => {
        expect(ticks).toContain(tick.result_id);
        expect(reports).toContain(report.run_id);
      });
    };
    await exchange();

    await server.kill();
    await until(() => {
      for (const bus of [hub, agent])
        expect(bus.status()).toEqual({
          connected: false,
          detail: `NATS at ${server.url}: reconnecting`,
        });
    });
    await server.restart(how);
    await exchange();
    await until(() => {
      for (const bus of [hub, agent]) expect(bus.status().connected).toBe(true);
    });
  });

  it("messages published earlier and not consumed are still delivered", async () => {
    await using server = await startNatsServer();
    await using bus = await connectTo(server.url);
    const tick = aTick({ location_id: newLocation() });
    await bus.publishTicks([tick]);
    await server.kill();
    await server.restart();
    const taken: (readonly Tick[])[] = [];
    await bus.consumeTicks(tick.location_id, async (ticks) => {
      taken.push(ticks);
    });
    await until(() => expect(taken).toEqual([[tick]]));
  });

  it("messages published meanwhile are stored once, if it is back in time", async () => {
    await using server = await startNatsServer();
    await using bus = await connectTo(server.url, { clock: standing });
    const location_id = newLocation();
    const reports = Array.from({ length: 50 }, () => aRunReport(location_id));
    const taken: RunReport[] = [];
    await bus.consumeReports(async (batch) => void taken.push(...batch));
    await server.kill();
    const published = Promise.all(reports.map((report) => bus.publishReports([report])));
    await server.restart();
    await published;
    await until(() => expect(taken).toHaveLength(50));
    expect(new Set(taken.map((report) => report.run_id)).size).toBe(50);
  });

  it("an unanswered message is published again at once when it is back", async () => {
    await using server = await startNatsServer();
    await using parts = await openParts(server.url);
    const { streams, client, publisher } = parts;
    await streams.ensure();
    vi.spyOn(client, "publish").mockReturnValueOnce(new Promise(() => {}));
    const stored = storeMessage(
      { ...publisher, clock: standing },
      { subject: tickSubject(newLocation()), kind: "ticks" },
      { id: "a message", data: new Uint8Array() },
    );
    await server.kill();
    await server.restart();
    expect(await stored).toBe(true);
  });

  it("a message that is refused for 4 s is stored within the 5 s", async () => {
    await using server = await startNatsServer();
    await using parts = await openParts(server.url);
    const { streams, client, publisher } = parts;
    await streams.ensure();
    const clock = createManualClock(0);
    const publish = client.publish.bind(client);
    vi.spyOn(client, "publish").mockImplementation(async (...message) => {
      if (clock.monotonic() < 4000) throw new Error("no leader");
      return publish(...message);
    });
    const stored = storeMessage(
      { ...publisher, clock },
      { subject: tickSubject(newLocation()), kind: "ticks" },
      { id: "a message", data: new Uint8Array() },
    );
    await clock.advance(5000);
    expect(await stored).toBe(true);
  });

  it("publishing fails after 5 s without a server", async () => {
    await using server = await startNatsServer();
    await using bus = await connectTo(server.url);
    await server.kill();
    const start = performance.now();
    const refused = bus
      .publishTicks([aTick({ location_id: newLocation() })])
      .catch((cause: unknown) => cause);
    // Timers in this process: a stall delays both, and the second one leaves time for the refusal.
    const overdue = delay(5000).then(() => delay(500, "refused too late"));
    expect(await Promise.race([refused, overdue])).toMatchObject({
      code: "unavailable",
      message: `NATS at ${server.url} did not store a message (reconnecting)`,
    });
    expect(performance.now() - start).toBeGreaterThan(4900);
  });

  it("only the lost connection is a warning, however many locations wait for their consumers", async () => {
    await using server = await startNatsServer();
    const lines: { readonly level: string; readonly msg: string }[] = [];
    const log = createLogger("debug", { write: (line) => lines.push(JSON.parse(line)) });
    await using hub = await connectTo(server.url, { log });
    await server.kill();
    await until(() => expect(hub.status().connected).toBe(false));
    const locations = [newLocation(), newLocation()];
    await Promise.allSettled(
      locations.map((location_id) => hub.publishTicks([aTick({ location_id })])),
    );
    const failed = "cannot create the tick consumer of a location";
    await until(() => expect(lines.filter(({ msg }) => msg === failed)).toHaveLength(2));
    const warnings = lines.filter(({ level }) => level === "warn").map(({ msg }) => msg);
    expect(warnings).toEqual(["NATS connection lost; reconnecting"]);
  });
});

it("a hub without a consumer is not connected while the server has no JetStream", async () => {
  await using server = await startNatsServer();
  await using hub = await connectTo(server.url);
  await server.kill();
  await server.restart({ jetstream: false });
  await until(() => {
    expect(hub.status()).toEqual({
      connected: false,
      detail: `NATS at ${server.url}: JetStream stores no message (jetstream is not enabled)`,
    });
    expect(hub.connection()).toMatchObject({ isUp: false, reconnects: 1 });
  });
  await server.kill();
  await server.restart();
  await until(() => expect(hub.status().connected).toBe(true));
  expect(hub.connection()).toMatchObject({ isUp: true, reconnects: 2 });
});

describe("a server without room for the streams", () => {
  it("is one warning, however many locations wait for their consumers, and however often", async () => {
    await using server = await startNatsServer();
    const lines: { level: string; msg: string; err: { message: string } }[] = [];
    const log = createLogger("debug", { write: (line) => lines.push(JSON.parse(line)) });
    await using hub = await connectTo(server.url, { log });
    await server.kill();
    await server.restart({ config: "jetstream { max_file_store: 2MB }" });
    /** The last failures for one reason: another reason, such as a stall, is another warning. */
    const failures = () => {
      const all = lines.filter(
        ({ msg }) => msg === "cannot create the tick consumer of a location",
      );
      const reason = all.at(-1)?.err.message;
      return all.slice(all.findLastIndex(({ err }) => err.message !== reason) + 1);
    };
    const locations = [newLocation(), newLocation()];
    await until(async () => {
      await Promise.allSettled(
        locations.map((location_id) => hub.publishTicks([aTick({ location_id })])),
      );
      expect(failures().length).toBeGreaterThanOrEqual(4);
    });
    expect(failures().filter(({ level }) => level === "warn")).toHaveLength(1);
  });
});

describe("a consumer that cannot be opened", () => {
  it.each([
    ["once is nobody's affair", 1, []],
    ["again is logged, once, and so is its end", 3, ["waiting for the hub", "consuming resumed"]],
  ])("%s", async (_, failures, logged) => {
    await using server = await startNatsServer();
    const clock = createManualClock(T0);
    const lines: string[] = [];
    const log = createLogger("info", { write: (line) => lines.push(line) });
    const location_id = newLocation();
    await using agent = await connectTo(server.url, { locationId: location_id, clock, log });
    const ticks: string[] = [];
    await agent.consumeTicks(location_id, async (batch) => {
      ticks.push(...batch.map((tick) => tick.result_id));
    });
    for (let failure = 1; failure <= failures; failure += 1) {
      if (failure > 1) await clock.advance(retryDelayMs(failure - 1));
      const next = clock.now() + retryDelayMs(failure);
      await until(() => expect(clock.waiting()).toContain(next));
    }
    await using hub = await connectTo(server.url);
    const tick = aTick({ location_id });
    await hub.publishTicks([tick]);
    await until(() => consumerInfo(server.url, location_id));
    await clock.advance(retryDelayMs(failures));
    await until(() => expect(ticks).toEqual([tick.result_id]));
    const said = lines.map((line) => (JSON.parse(line) as { readonly msg: string }).msg);
    expect(said.filter((msg) => /consuming|waiting/.test(msg))).toEqual(logged);
  });
});

describe("while nats-server runs", () => {
  it.each([["SONDE_TICKS"], ["SONDE_RESULTS"]])(
    "the stream %s is created again after it was deleted",
    async (stream) => {
      await using server = await startNatsServer();
      await using bus = await connectTo(server.url);
      const location_id = newLocation();
      const seen: string[] = [];
      await bus.consumeTicks(location_id, async (ticks) => {
        seen.push(...ticks.map((tick) => tick.result_id));
      });
      await bus.consumeReports(async (reports) => {
        seen.push(...reports.map((report) => report.run_id));
      });
      const exchange = async (): Promise<void> => {
        const [tick, report] = [aTick({ location_id }), aRunReport(location_id)];
        await bus.publishTicks([tick]);
        await bus.publishReports([report]);
        await until(() => {
          expect(seen).toContain(tick.result_id);
          expect(seen).toContain(report.run_id);
        });
      };
      await exchange();
      await administer(server.url, (manager) => manager.streams.delete(stream));
      await exchange();
    },
  );

  it("a consumer is created again after it was deleted", async () => {
    await using server = await startNatsServer();
    await using bus = await connectTo(server.url);
    const location_id = newLocation();
    const seen: string[] = [];
    await bus.consumeTicks(location_id, async (ticks) => {
      seen.push(...ticks.map((tick) => tick.result_id));
    });
    await until(async () => {
      await consumerInfo(server.url, location_id);
    });
    await administer(server.url, (manager) => manager.consumers.delete("SONDE_TICKS", location_id));
    const tick = aTick({ location_id });
    await bus.publishTicks([tick]);
    await until(() => expect(seen).toEqual([tick.result_id]));
  });

  it("a consumer is created once its stream accepts messages", async () => {
    await using server = await startNatsServer();
    await using parts = await openParts(server.url);
    const { manager, client, streams } = parts;
    await streams.ensure();
    vi.spyOn(manager, "jetstream").mockReturnValue(client);
    const publish = vi.spyOn(client, "publish");
    // What a stream does that another process is just creating.
    publish.mockRejectedValueOnce(new errors.NoRespondersError("sonde.results.probe"));
    const created = vi.spyOn(manager.consumers, "add");
    created.mockImplementationOnce((...consumer) => {
      expect(publish).toHaveBeenCalledTimes(2);
      return manager.consumers.add(...consumer);
    });
    await ensureConsumer({ manager, streams, ackWaitMs: ACK_WAIT_MS }, REPORT_CONSUMER);
    expect(await manager.consumers.info("SONDE_RESULTS", "aggregator")).toBeDefined();
    expect((await manager.streams.info("SONDE_RESULTS")).state.last_seq).toBe(0);
  });

  it("a message redelivered while its handler works is handled once", async () => {
    await using server = await startNatsServer();
    await using bus = await connectTo(server.url);
    const location_id = newLocation();
    const release = Promise.withResolvers<void>();
    const taken: string[] = [];
    await bus.consumeTicks(location_id, async ([tick]) => {
      taken.push(tick?.result_id ?? "");
      await release.promise;
    });
    const [held, next] = [aTick({ location_id }), aTick({ location_id })];
    await bus.publishTicks([held]);
    await until(() => expect(taken).toEqual([held.result_id]));
    // A new consumer knows of no delivery, so it begins with the oldest message.
    await administer(server.url, (manager) => manager.consumers.delete("SONDE_TICKS", location_id));
    await bus.publishTicks([next]);
    await until(() => expect(taken).toHaveLength(2));
    expect(taken).toEqual([held.result_id, next.result_id]);
    const before = await consumerInfo(server.url, location_id);
    expect(before).toMatchObject({ num_ack_pending: 2, num_pending: 0 });
    release.resolve();
    await until(async () => {
      const after = await consumerInfo(server.url, location_id);
      expect(after).toMatchObject({ num_ack_pending: 0, num_pending: 0 });
    });
    expect(taken).toHaveLength(2);
  });

  it("a server that stops answering is noticed within two pings", async () => {
    await using server = await startNatsServer();
    await using bus = await connectTo(server.url, { pingIntervalMs: 200 });
    process.kill(server.pid, "SIGSTOP");
    try {
      await until(() => expect(bus.status()).toMatchObject({ connected: false }));
    } finally {
      process.kill(server.pid, "SIGCONT");
    }
    await until(() => expect(bus.status()).toMatchObject({ connected: true }));
    await bus.publishTicks([aTick({ location_id: newLocation() })]);
  });

  it("the ticks of a killed process reach another", async () => {
    await using server = await startNatsServer();
    await using bus = await connectTo(server.url);
    const location_id = newLocation();
    const script = new URL("holding-consumer.ts", import.meta.url).pathname;
    const key = Buffer.from(keyOf(location_id)).toString("base64");
    const given = [server.url, location_id, key, String(ACK_WAIT_MS)];
    const other = spawn(process.execPath, [script, ...given], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const tick = aTick({ location_id });
    try {
      await bus.publishTicks([tick]);
      await firstOutput(other);
    } finally {
      other.kill("SIGKILL");
    }
    const taken: (readonly Tick[])[] = [];
    await bus.consumeTicks(location_id, async (ticks) => {
      taken.push(ticks);
    });
    await until(() => expect(taken).toEqual([[tick]]));
  });
});

describe("at the start", () => {
  const failure = async (
    url: string,
    options: Parameters<typeof connectTo>[1] = {},
  ): Promise<string> => {
    try {
      await using _ = await connectTo(url, options);
    } catch (cause) {
      return (cause as Error).message;
    }
    return "none";
  };

  it("an unreachable server is reported with its address and advice", async () => {
    const port = await freePort();
    expect(await failure(`nats://ann:s3cret@127.0.0.1:${port}`)).toBe(
      `cannot reach NATS at nats://127.0.0.1:${port} (connection refused): start nats-server with JetStream (-js), or set SONDE_NATS_URL`,
    );
  });

  it("a proxy without a server behind it is reported", async () => {
    await using proxy = await startTcpProxy(await freePort());
    expect(await failure(`nats://127.0.0.1:${proxy.port}`)).toBe(
      `cannot reach NATS at nats://127.0.0.1:${proxy.port} (it closed the connection): start nats-server with JetStream (-js), or set SONDE_NATS_URL`,
    );
  });

  it("a server without JetStream is reported", async () => {
    await using server = await startNatsServer({ jetstream: false });
    expect(await failure(server.url)).toMatch(
      /^NATS at \S+ does not offer JetStream \(.*\): start nats-server with -js/,
    );
  });

  it("an account without JetStream is reported, with advice on the account", async () => {
    await using server = await startNatsServer({
      config: "accounts { A: { users: [{ user: ann, password: s3cret }] } }",
    });
    expect(await failure(`nats://ann:s3cret@127.0.0.1:${server.port}`)).toMatch(
      /^NATS at \S+ does not offer JetStream \(.* for account\): enable it for the account/,
    );
  });

  it("the streams are created though the server refuses for 9 s", async () => {
    await using server = await startNatsServer();
    await using parts = await openParts(server.url);
    const { link, manager, streams } = parts;
    const clock = createManualClock(0);
    const info = manager.streams.info.bind(manager.streams);
    vi.spyOn(manager.streams, "info").mockImplementation(async (...stream) => {
      if (clock.monotonic() < 9000) throw new Error("no leader");
      return info(...stream);
    });
    const created = prepareStreams(link, streams, clock);
    await clock.advance(10_000);
    await created;
    expect(await info("SONDE_TICKS")).toMatchObject({ config: { num_replicas: 1 } });
  });

  it("requests that are not answered in time are repeated", async () => {
    await using server = await startNatsServer();
    await using parts = await openParts(server.url);
    const { link, manager, streams } = parts;
    const unanswered = new errors.TimeoutError();
    vi.spyOn(link.connection, "request").mockRejectedValueOnce(unanswered);
    await awaitJetStream(link, systemClock);
    await streams.ensure();
    const info = manager.streams.info.bind(manager.streams);
    let asked = 0;
    vi.spyOn(manager.streams, "info").mockImplementation(async (...stream) => {
      asked += 1;
      if (asked === 1 || asked === 5) throw unanswered; // of those that create, and that adapt
      return info(...stream);
    });
    await prepareStreams(link, streams, systemClock);
    expect(asked).toBe(7);
  });

  it("refused credentials are reported without showing them", async () => {
    await using server = await startNatsServer({
      config: 'authorization { user: ann, password: "a:1/b@c" }',
    });
    const at = `127.0.0.1:${server.port}`;
    expect(await failure(`nats://ann:s3cret@${at}`)).toBe(
      `NATS at nats://${at} refused the credentials: check the user and password in SONDE_NATS_URL, or the credentials file`,
    );
    expect(await failure(`nats://${at}`)).toBe(
      `NATS at nats://${at} asks for credentials: set SONDE_NATS_NKEY, SONDE_NATS_CREDENTIALS, or a user and password in SONDE_NATS_URL`,
    );
  });

  it.each([
    ["http://127.0.0.1:4222"],
    ["nats://ann:s3cret@"],
    ["nats://ann:s3/cret@127.0.0.1:4222:1"],
  ])("the malformed address %s is reported without showing it", async (url) => {
    const message = await failure(url);
    expect(message).toContain("is not of the form nats://host:port");
    expect(message).not.toContain("cret");
  });

  it("credentials that are not a .creds file are reported without showing them", async () => {
    const message = await failure("nats://127.0.0.1:1", {
      credentials: "s3cret",
    });
    expect(message).toBe("the NATS credentials are not the content of a .creds file");
  });

  it("credentials that end with their seed are used", async () => {
    const seed = new TextDecoder().decode(nkeys.createUser().getSeed());
    const parts = { "NATS USER JWT": "e30.e30.e30", "USER NKEY SEED": seed };
    const credentials = Object.entries(parts)
      .map(([name, text]) => `-----BEGIN ${name}-----\n${text}\n------END ${name}------`)
      .join("\n");
    expect(await failure("nats://127.0.0.1:1", { credentials })).toContain("connection refused");
  });

  it("user and password of the URL are used, and never logged", async () => {
    await using server = await startNatsServer({
      config: 'authorization { user: ann, password: "4:1/s3cret@c" }',
    });
    const lines: string[] = [];
    const log = createLogger("trace", { write: (line) => lines.push(line) });
    const password = encodeURIComponent("4:1/s3cret@c");
    const url = `nats://ann:${password}@127.0.0.1:${server.port}`;
    await using bus = await connectTo(url, { log });
    expect(bus.status()).toEqual({
      connected: true,
      detail: `NATS at nats://127.0.0.1:${server.port}`,
    });
    await server.kill();
    await until(() => expect(lines.join()).toContain("NATS connection lost"));
    await server.restart();
    await until(() => expect(lines.join()).toContain("NATS connection restored"));
    expect(lines.join()).not.toContain("s3cret");
  });
});

/** Opens the parts of a bus, but creates no streams. */
async function openParts(url: string) {
  const link = await openNatsLink({
    servers: [url],
    name: "test",
    pingIntervalMs: 5000,
    log: quiet,
  });
  const manager = await jetstreamManager(link.connection);
  const streams = createStreams({ manager, settings: STREAMS, clustered: false, log: quiet });
  const client = manager.jetstream();
  const room = watchRoom({ clock: systemClock, log: quiet });
  return {
    link,
    manager,
    client,
    streams,
    publisher: { link, client, access: { ensureStreams: streams.ensure }, room },
    [Symbol.asyncDispose]: () => link.connection.close(),
  };
}

async function administer<T>(
  url: string,
  act: (manager: Awaited<ReturnType<typeof jetstreamManager>>) => Promise<T>,
): Promise<T> {
  await using connection = await connect({ servers: url });
  return await act(await jetstreamManager(connection));
}

const consumerInfo = (url: string, locationId: string) =>
  administer(url, (manager) => manager.consumers.info("SONDE_TICKS", locationId));
