// The bus between processes: NATS JetStream for ticks and reports, plain NATS for heartbeats.
import type { JetStreamManager } from "@nats-io/jetstream";
import type { Clock } from "../../runtime/clock.ts";
import type { Logger } from "../../runtime/logger.ts";
import { locationIdValidator } from "../../model/location.ts";
import type { Heartbeat } from "../../model/location.ts";
import type { Bus, Consumer } from "../bus.ts";
import { HEARTBEAT_ANSWER_MS, MAX_REPORTS_PER_BATCH } from "../bus.ts";
import {
  decodeHubTime,
  decodeReports,
  decodeTicks,
  encodeHeartbeat,
  encodeHubTime,
  encodeReports,
  encodeTicks,
  locationOf,
} from "../codec.ts";
import type { Listener, MessageKind } from "../delivery.ts";
import { createListener, receiveEach, receiveInBatches } from "../delivery.ts";
import type { NatsLink } from "./connection.ts";
import { openNatsLink } from "./connection.ts";
import { createConsumers } from "./consumer-set.ts";
import { createPublisher } from "./publisher.ts";
import { makeStreams, openJetStream } from "./start.ts";
import type { Topology } from "./topology.ts";
import {
  HEARTBEAT_QUEUE,
  REPORT_CONSUMER,
  createTopology,
  heartbeatSubject,
  inboxPrefix,
  locationOfSubject,
  reportSubject,
  tickConsumer,
  tickSubject,
} from "./topology.ts";

export interface NatsBusOptions {
  /** `nats://` or `tls://` URLs, with user and password where they are needed. */
  readonly servers: readonly string[];
  /** The content of a `.creds` file. */
  readonly credentials?: string;
  /**
   * Of an agent whose credential reaches this one location only (`agentPermissions` in
   * nats-topology.ts).
   */
  readonly locationId?: string;
  /** As the server's monitoring shows this process. */
  readonly name: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Told of each message that could not be decoded. */
  readonly onDropped?: (kind: MessageKind) => void;
  /** Without a sign of life for this long, a message is delivered to another consumer. */
  readonly ackWaitMs?: number;
  /** A server that leaves a ping unanswered for this long is taken for lost. */
  readonly pingIntervalMs?: number;
}

const ACK_WAIT_MS = 10_000;
const PING_INTERVAL_MS = 5000;

const TICKS = { kind: "ticks", decode: decodeTicks } as const;
const REPORTS = { kind: "reports", decode: decodeReports } as const;

/**
 * Rejects, with a message for the operator, when NATS cannot be reached, refuses the credentials or
 * has no JetStream.
 */
export async function createNatsBus(options: NatsBusOptions): Promise<Bus> {
  const { servers, credentials, locationId, name, log } = options;
  const link = await openNatsLink({
    servers,
    ...(credentials === undefined ? {} : { credentials }),
    ...(locationId === undefined
      ? {}
      : { inboxPrefix: inboxPrefix(locationIdValidator.parse(locationId)) }),
    name,
    pingIntervalMs: options.pingIntervalMs ?? PING_INTERVAL_MS,
    log,
  });
  try {
    const manager = await openJetStream(link);
    const topology = createTopology({
      manager,
      clustered: link.connection.info?.cluster !== undefined,
      ackWaitMs: options.ackWaitMs ?? ACK_WAIT_MS,
    });
    // The credential of an agent may not make streams.
    if (locationId === undefined) await makeStreams(link, topology, options.clock);
    return createBus(options, link, manager, topology);
  } catch (cause) {
    await link.connection.close();
    throw cause;
  }
}

function createBus(
  options: NatsBusOptions,
  link: NatsLink,
  manager: JetStreamManager,
  topology: Topology,
): Bus {
  const { clock, log, onDropped = () => undefined } = options;
  const told = { log, onDropped };
  const client = manager.jetstream();
  const publisher = createPublisher({ link, client, topology, clock });
  const { ackWaitMs = ACK_WAIT_MS } = options;
  const consumers = createConsumers({ link, client, topology, log, ackWaitMs });
  let closing: Promise<void> | undefined;

  return {
    durable: true,
    async publishTicks(ticks) {
      if (ticks.length === 0) return;
      const subject = tickSubject(locationOf(ticks));
      await publisher.publish(subject, ticks, encodeTicks);
    },
    async consumeTicks(locationId, handler) {
      const spec = tickConsumer(locationIdValidator.parse(locationId));
      return consumers.pull(spec, receiveEach({ ...TICKS, ...told, handler }));
    },
    async publishReports(reports) {
      if (reports.length === 0) return;
      const subject = reportSubject(locationOf(reports));
      await publisher.publish(subject, reports, encodeReports);
    },
    async consumeReports(handler) {
      const handling = { ...REPORTS, ...told, handler };
      const receiver = receiveInBatches(handling, MAX_REPORTS_PER_BATCH);
      return consumers.pull(REPORT_CONSUMER, receiver);
    },
    reportsSafe: () => Promise.resolve(),
    sendHeartbeat: (heartbeat) => askWith(link, heartbeat),
    async consumeHeartbeats(handler) {
      const listener = createListener(handler, told);
      return consumers.add(listen(link, listener));
    },
    status() {
      const fault = link.fault() ?? consumers.fault();
      return fault === undefined
        ? { connected: true, detail: `NATS at ${link.addresses}` }
        : { connected: false, detail: `NATS at ${link.addresses}: ${fault}` };
    },
    announcedServers: () => link.connection.info?.connect_urls ?? [],
    close() {
      closing ??= (async () => {
        await consumers.drain();
        await link.flush();
        await link.connection.close();
      })();
      return closing;
    },
  };
}

/** Null where no hub is there, or one that does not answer. */
async function askWith(link: NatsLink, heartbeat: Heartbeat): Promise<number | null> {
  const subject = heartbeatSubject(locationOf([heartbeat]));
  if (link.fault() !== undefined) return null;
  const data = encodeHeartbeat(heartbeat);
  const timeout = HEARTBEAT_ANSWER_MS;
  try {
    const answer = await link.connection.request(subject, data, { timeout });
    return decodeHubTime(answer.data);
  } catch {
    return null;
  }
}

function listen({ connection }: NatsLink, listener: Listener): Consumer {
  const subscription = connection.subscribe(heartbeatSubject("*"), {
    queue: HEARTBEAT_QUEUE,
    callback(err, message) {
      if (err) return; // the connection logs it
      const locationId = locationOfSubject(message.subject);
      void listener.tell(locationId, message.data, (hubTime) =>
        message.respond(encodeHubTime(hubTime)),
      );
    },
  });
  return {
    drain() {
      subscription.unsubscribe();
      return listener.settled();
    },
  };
}
