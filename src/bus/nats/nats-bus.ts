// The bus between processes: NATS JetStream for ticks and reports, plain NATS for questions.
import { jetstream } from "@nats-io/jetstream";
import type { JetStreamClient } from "@nats-io/jetstream";
import type { Clock } from "../../runtime/clock.ts";
import type { Logger } from "../../runtime/logger.ts";
import { checkLocationId } from "../../model/location.ts";
import { locationOf } from "../bus.ts";
import type { Bus, BusStatus, HeartbeatHandler, QuestionHandler } from "../bus.ts";
import type { ItemKind, MessageKind } from "../delivery.ts";
import { createReportReceiver, createTickReceiver } from "../delivery.ts";
import { createQuestionListener } from "../questions.ts";
import type { Question } from "../questions.ts";
import { readBacklog } from "./backlog.ts";
import { decodeReports, decodeTicks, REPORTS, TICKS } from "./codec.ts";
import type { NatsLink, NatsTls } from "./connection.ts";
import { openNatsLink } from "./connection.ts";
import { createConsumers } from "./consumer.ts";
import { awaitJetStream } from "./jetstream.ts";
import { createAgentOpener, createHubOpener } from "./opener.ts";
import { publish } from "./publisher.ts";
import { CREDENTIALS, HEARTBEATS, ask, listen } from "./questions.ts";
import type { Questions } from "./questions.ts";
import { watchRoom } from "./room.ts";
import type { SealerOf } from "./sealing.ts";
import { createAgentAccess, createHubAccess } from "./stream-access.ts";
import type { StreamAccess } from "./stream-access.ts";
import { createStreams, prepareStreams } from "./streams.ts";
import type { StreamSettings } from "./streams.ts";
import { REPORT_CONSUMER, tickConsumer } from "./topology.ts";
import { watchConnection } from "./watch.ts";

export type NatsBusOptions = NatsSettings & NatsSide;

/** An agent reaches its location only, and creates no stream; the hub's settings govern them. */
export type NatsSide =
  | { readonly locationId: string; readonly streams?: never }
  | { readonly locationId?: never; readonly streams: StreamSettings };

export interface NatsSettings {
  /** `nats://` or `tls://` URLs, with user and password where NATS requires them. */
  readonly servers: readonly string[];
  /** The content of a `.creds` file. */
  readonly credentials?: string;
  /** The seed of a user's nkey. */
  readonly nkey?: string;
  readonly tls?: NatsTls;
  /** Returns the sealer of a location's messages. */
  readonly sealerOf: SealerOf;
  /** The name of this process in the server's monitoring. */
  readonly name: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called for each message that could not be opened or decoded. */
  readonly onDropped?: (kind: MessageKind) => void;
  /** Called for each message that NATS had no room for. */
  readonly onRefused?: (kind: ItemKind) => void;
  /** A message without a sign of life for this long is redelivered; default 10 s. */
  readonly ackWaitMs?: number;
  /** A server that leaves a ping unanswered for this long counts as lost; default 5 s. */
  readonly pingIntervalMs?: number;
}

const ACK_WAIT_MS = 10_000;
const PING_INTERVAL_MS = 5000;
/** Enough for many batches; decoded, reports take three times as much memory. */
const MAX_REPORT_BYTES = 32 * 1024 * 1024;

/**
 * Rejects with advice for the operator when NATS is out of reach, refuses the credentials or has no
 * JetStream.
 */
export async function createNatsBus(options: NatsBusOptions): Promise<Bus> {
  const { streams, pingIntervalMs = PING_INTERVAL_MS } = options;
  const link = await openNatsLink({ ...options, pingIntervalMs });
  try {
    const client = jetstream(link.connection);
    const access = streams
      ? await openHubAccess(options, streams, link, client)
      : createAgentAccess(link);
    return createBus(options, link, client, access);
  } catch (cause) {
    await link.connection.close();
    throw cause;
  }
}

async function openHubAccess(
  { clock, log, ackWaitMs = ACK_WAIT_MS }: NatsSettings,
  settings: StreamSettings,
  link: NatsLink,
  client: JetStreamClient,
): Promise<StreamAccess> {
  const manager = await awaitJetStream(link, clock);
  const streams = createStreams({ manager, settings, clustered: link.clustered, log });
  await prepareStreams(link, streams, clock);
  return createHubAccess({
    link,
    client,
    jetStream: { manager, streams, ackWaitMs },
    clock,
    log,
  });
}

function createBus(
  options: NatsBusOptions,
  link: NatsLink,
  client: JetStreamClient,
  access: StreamAccess,
): Bus {
  const { clock, log, sealerOf, ackWaitMs = ACK_WAIT_MS } = options;
  const hubReader = createHubOpener(options);
  const opener = createAgentOpener(options);
  const questionsLink = { link, sealerOf, opener };
  const room = watchRoom(options);
  const watch = watchConnection(link, clock, options.streams !== undefined);
  const publisher = { link, client, access, clock, room, sealerOf };
  const consumers = createConsumers({ link, access, clock, log, ackWaitMs });

  function answer<Q extends Question, A>(to: Questions<Q, A>, handler: QuestionHandler<Q, A>) {
    const { kind, decode } = to;
    const listener = createQuestionListener(kind, handler, options);
    return consumers.add(listen(questionsLink, to, hubReader(kind, decode), listener));
  }
  async function close(): Promise<void> {
    watch.close();
    await consumers.drain();
    await link.flush();
    await link.connection.close();
  }
  let closing: Promise<void> | undefined;

  return {
    durable: true,
    async publishTicks(ticks) {
      if (ticks.length > 0) access.keepTickConsumer(locationOf(ticks));
      await publish(publisher, TICKS, ticks);
    },
    async consumeTicks(locationId, handler) {
      const spec = tickConsumer(checkLocationId(locationId));
      const read = opener.reader("ticks", decodeTicks);
      const receiver = createTickReceiver(handler, options);
      return consumers.pull(spec, { read, receiver, keyCheck: opener.keyCheck });
    },
    publishReports: (reports) => publish(publisher, REPORTS, reports),
    consumeReports: async (handler) =>
      consumers.pull(REPORT_CONSUMER, {
        read: hubReader("reports", decodeReports),
        receiver: createReportReceiver(handler, options),
        maxBytes: MAX_REPORT_BYTES,
      }),
    reportsSafe: () => Promise.resolve(),
    sendHeartbeat: (heartbeat) => ask(questionsLink, HEARTBEATS, heartbeat),
    consumeHeartbeats: async (handler) => answer(HEARTBEATS, keepingConsumer(access, handler)),
    requestCredentials: (request) => ask(questionsLink, CREDENTIALS, request),
    consumeCredentialsRequests: async (handler) => answer(CREDENTIALS, handler),
    status: () => statusOf(link, [watch, consumers, opener.keyCheck], room.fault()),
    backlog: (now) => readBacklog(link, now),
    connection: () => watch.read(),
    seenAt: () => link.connection.info?.client_ip ?? "",
    announcedServers: () => link.connection.info?.connect_urls ?? [],
    close: () => (closing ??= close()),
  };
}

/** Creates the tick consumer of each location that an agent reports from, if it is missing. */
const keepingConsumer =
  (access: StreamAccess, handler: HeartbeatHandler): HeartbeatHandler =>
  (heartbeat, answer) => {
    access.keepTickConsumer(heartbeat.location_id);
    return handler(heartbeat, answer);
  };

interface Faulty {
  fault(): string | undefined;
}

function statusOf({ addresses }: NatsLink, parts: readonly Faulty[], room?: string): BusStatus {
  const [reason] = parts.flatMap((part) => part.fault() ?? []);
  const detail = `NATS at ${addresses}`;
  if (reason !== undefined) return { connected: false, detail: `${detail}: ${reason}` };
  return { connected: true, detail, ...(room !== undefined && { degraded: room }) };
}
