// Inspects NATS as a process with these settings would use it, without changes: creates no stream
// and no consumer, and stores nothing that it publishes.
import { jetstream } from "@nats-io/jetstream";
import type { JetStreamManager, StreamInfo } from "@nats-io/jetstream";
import type { BusFacts, ConsumerFacts, StreamFacts, SubjectFacts } from "../bus-facts.ts";
import { openNatsLink } from "./connection.ts";
import type { NatsLink } from "./connection.ts";
import { isForbidden, isNoResponders, isStreamMissing, textOf } from "./errors.ts";
import { openJetStream } from "./jetstream.ts";
import type { NatsSettings, NatsSide } from "./nats-bus.ts";
import { probeStream } from "./probe.ts";
import { createAgentAccess, NotMadeError } from "./stream-access.ts";
import { plansOf, replicasOf } from "./streams.ts";
import type { StreamSettings } from "./streams.ts";
import {
  credentialsSubject,
  heartbeatSubject,
  inboxPrefix,
  reportSubject,
  tickConsumer,
  tickSubject,
} from "./topology.ts";
import { refusalOfJetStream } from "./watch.ts";

export type NatsInspectionOptions = Pick<
  NatsSettings,
  "servers" | "credentials" | "nkey" | "tls" | "name" | "log"
> &
  NatsSide;

/** Longer than an inspection takes, since the connection need not be watched. */
const PING_INTERVAL_MS = 60_000;

/** Rejects with advice for the operator if NATS is unreachable or refuses the credentials. */
export async function inspectNats(options: NatsInspectionOptions): Promise<BusFacts> {
  const { locationId, streams } = options;
  const link = await openNatsLink({ ...options, pingIntervalMs: PING_INTERVAL_MS });
  const { connection, addresses, clustered } = link;
  try {
    const common = {
      addresses,
      serverVersion: connection.info?.version ?? "",
      roundTripMs: await connection.rtt(),
      clustered,
    };
    return streams
      ? { ...common, ...(await inspectAsHub(link, streams)) }
      : { ...common, ...(await inspectAsAgent(link, locationId)) };
  } finally {
    await connection.close();
  }
}

type RoleFacts = Pick<BusFacts, "subjects" | "streams" | "tickConsumer">;

async function inspectAsHub(link: NatsLink, settings: StreamSettings): Promise<RoleFacts> {
  const subjects = await Promise.all(
    [heartbeatSubject("*"), credentialsSubject("*")].map(async (subject) => ({
      subject,
      needed: true,
      allowed: await maySubscribe(link, subject),
    })),
  );
  try {
    const refusal = link.clustered ? await refusalOfJetStream(link) : undefined;
    if (refusal !== undefined) return { subjects, streams: { fault: noQuorum(refusal) } };
    const manager = await openJetStream(link);
    const replicas = replicasOf(settings, link.clustered);
    const streams = await Promise.all(
      plansOf(settings).map(async ({ name, setting, maxBytes }) => ({
        name,
        setting,
        wanted: { maxBytes, replicas },
        ...(await streamFacts(manager, name)),
      })),
    );
    return { subjects, streams };
  } catch (cause) {
    return { subjects, streams: { fault: textOf(cause) } };
  }
}

const noQuorum = (refusal: unknown): string =>
  `JetStream stores no message (${textOf(refusal)}): start servers with JetStream until more than half of the cluster run`;

async function streamFacts(
  manager: JetStreamManager,
  name: string,
): Promise<Pick<StreamFacts, "found">> {
  try {
    const { config, state, cluster } = await manager.streams.info(name);
    return {
      found: {
        messages: state.messages,
        bytes: state.bytes,
        maxBytes: config.max_bytes,
        replicas: config.num_replicas,
        lagging: laggingIn(cluster),
      },
    };
  } catch (cause) {
    if (isStreamMissing(cause)) return {};
    throw cause;
  }
}

const laggingIn = (cluster: StreamInfo["cluster"]): string[] =>
  (cluster?.replicas ?? []).flatMap(({ name, current, offline }) =>
    offline || !current ? [name] : [],
  );

async function inspectAsAgent(link: NatsLink, locationId: string): Promise<RoleFacts> {
  const inbox = `${inboxPrefix(locationId)}.doctor`;
  const results = reportSubject(locationId);
  const subjects: SubjectFacts[] = [
    { subject: inbox, needed: true, allowed: await maySubscribe(link, inbox) },
    { subject: results, needed: true, allowed: await mayPublishTo(link, results) },
  ];
  for (const subject of [tickSubject("*"), reportSubject("*"), heartbeatSubject("*")])
    subjects.push({ subject, needed: false, allowed: await maySubscribe(link, subject) });
  return { subjects, streams: [], tickConsumer: await consumerFacts(link, locationId) };
}

async function consumerFacts(link: NatsLink, locationId: string): Promise<ConsumerFacts> {
  try {
    const consumer = await createAgentAccess(link).openConsumer(tickConsumer(locationId));
    const { num_pending, num_ack_pending } = await consumer.info(true);
    return { pending: num_pending, unacknowledged: num_ack_pending };
  } catch (cause) {
    if (cause instanceof NotMadeError) return "missing";
    return { fault: textOf(cause) };
  }
}

/**
 * Returns whether the server accepts the subscription: it refuses one before it answers the ping
 * that follows.
 */
async function maySubscribe({ connection }: NatsLink, subject: string): Promise<boolean> {
  let refused = false;
  const subscription = connection.subscribe(subject, {
    callback: (error) => {
      if (error) refused = true;
    },
  });
  await connection.flush();
  subscription.unsubscribe();
  return !refused;
}

const PUBLISH_TIMEOUT_MS = 2000;

async function mayPublishTo({ connection }: NatsLink, subject: string): Promise<boolean> {
  try {
    await probeStream(jetstream(connection, { timeout: PUBLISH_TIMEOUT_MS }), subject);
    return true;
  } catch (cause) {
    // The stream is missing, which another check reports.
    return isNoResponders(cause) && !isForbidden(cause);
  }
}
