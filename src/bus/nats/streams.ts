// Creates Sonde's missing streams in NATS, and adapts existing ones to the settings without losing
// messages.
import { DiscardPolicy, RetentionPolicy, StorageType } from "@nats-io/jetstream";
import type { JetStreamManager, StreamConfig, StreamInfo } from "@nats-io/jetstream";
import { nanos } from "@nats-io/transport-node";
import { unavailable } from "../../model/errors.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Logger } from "../../runtime/logger.ts";
import { retry } from "../../runtime/retry.ts";
import { DEDUPLICATION_WINDOW_MS, REPORT_MAX_AGE_MS, TICK_MAX_AGE_MS } from "../bus.ts";
import type { NatsLink } from "./connection.ts";
import {
  isForbidden,
  isNameInUse,
  isNoRoom,
  isPeerMissing,
  isStreamMissing,
  isTimeout,
  textOf,
} from "./errors.ts";
import { forbidden, START_RETRIES } from "./jetstream.ts";
import { REPORT_STREAM, TICK_STREAM, reportSubject, tickSubject } from "./topology.ts";

export interface StreamSettings {
  readonly ticksMiB: number;
  readonly resultsMiB: number;
  /** Default: three in a cluster that has three servers, otherwise one. */
  readonly replicas: number | undefined;
}

export interface StreamsOptions {
  readonly manager: JetStreamManager;
  readonly settings: StreamSettings;
  /** Whether the server is part of a cluster. */
  readonly clustered: boolean;
  readonly log: Logger;
}

interface StreamPlan {
  readonly name: string;
  readonly subject: string;
  /** The name of the setting that bounds the stream. */
  readonly setting: string;
  readonly maxBytes: number;
  readonly maxAgeMs: number;
  /** Whether an existing stream may drop older messages as useless. */
  readonly agesOut: boolean;
}

const MIB = 1024 * 1024;
const REPLICAS_IN_CLUSTER = 3;

export const replicasOf = ({ replicas }: StreamSettings, clustered: boolean): number =>
  replicas ?? (clustered ? REPLICAS_IN_CLUSTER : 1);

export const plansOf = ({ ticksMiB, resultsMiB }: StreamSettings): readonly StreamPlan[] => [
  {
    name: TICK_STREAM,
    subject: tickSubject("*"),
    setting: "SONDE_NATS_TICKS_MIB",
    maxBytes: ticksMiB * MIB,
    maxAgeMs: TICK_MAX_AGE_MS,
    agesOut: true,
  },
  {
    name: REPORT_STREAM,
    subject: reportSubject("*"),
    setting: "SONDE_NATS_RESULTS_MIB",
    maxBytes: resultsMiB * MIB,
    maxAgeMs: REPORT_MAX_AGE_MS,
    agesOut: false,
  },
];

export type Streams = ReturnType<typeof createStreams>;

export function createStreams(options: StreamsOptions) {
  const { settings } = options;
  const plans = plansOf(settings);
  let replicas = replicasOf(settings, options.clustered);
  let ensuring: Promise<void> | undefined;
  return {
    /** Creates what is missing; leaves existing streams as they are. */
    ensure: (): Promise<void> =>
      (ensuring ??= Promise.all(plans.map((plan) => ensureStream(options, plan, replicas)))
        .then(() => undefined)
        .finally(() => (ensuring = undefined))),
    /** Adapts existing streams to the settings; logs what it changes or cannot change. */
    async align(clock: Clock): Promise<void> {
      for (const plan of plans)
        await retry(() => alignStream(options, plan, replicas), {
          clock,
          ...START_RETRIES,
          isRetryable: isTimeout,
        });
    },
    /** Falls back to one replica unless more were asked for; returns whether it did. */
    settleForOneReplica(): boolean {
      if (settings.replicas !== undefined || replicas === 1) return false;
      replicas = 1;
      return true;
    },
    /** What the server must offer, for the operator of one that does not. */
    needs: (): string =>
      `its JetStream needs room for SONDE_NATS_TICKS_MIB=${settings.ticksMiB} and SONDE_NATS_RESULTS_MIB=${settings.resultsMiB} (see max_file_store), and ${replicas === 1 ? "one server" : `${replicas} servers (see SONDE_NATS_REPLICAS)`}`,
  };
}

async function ensureStream(
  { manager }: StreamsOptions,
  { name, subject, maxBytes, maxAgeMs }: StreamPlan,
  replicas: number,
): Promise<void> {
  try {
    await manager.streams.info(name);
    return;
  } catch (cause) {
    if (!isStreamMissing(cause)) throw cause;
  }
  try {
    await manager.streams.add({
      name,
      subjects: [subject],
      retention: RetentionPolicy.Workqueue,
      storage: StorageType.File,
      discard: DiscardPolicy.New,
      max_bytes: maxBytes,
      max_age: nanos(maxAgeMs),
      duplicate_window: nanos(DEDUPLICATION_WINDOW_MS),
      num_replicas: replicas,
    });
  } catch (cause) {
    if (!isNameInUse(cause)) throw cause; // another process was faster
  }
}

async function alignStream(
  { manager, log }: StreamsOptions,
  plan: StreamPlan,
  replicas: number,
): Promise<void> {
  const stream = await manager.streams.info(plan.name);
  const { changes, kept } = changesTo(stream, { ...plan, replicas });
  // One by one: the server makes all changes of a request or none.
  for (const change of changes) {
    const facts = { stream: plan.name, ...change };
    try {
      await manager.streams.update(plan.name, change);
      log.info(facts, "stream updated");
    } catch (cause) {
      if (isTimeout(cause)) throw cause;
      log.warn({ ...facts, err: cause }, `stream not updated: ${adviceOn(plan, change, cause)}`);
    }
  }
  if (kept !== undefined) log.warn({ stream: plan.name }, kept);
}

interface StreamChanges {
  readonly changes: readonly Partial<StreamConfig>[];
  /** Why the stream keeps its limit. */
  readonly kept?: string;
}

/**
 * A limit below a stream's size makes the server delete messages. So it is lowered only while the
 * stream holds at most half of the new limit: more messages may arrive meanwhile. Replicas are
 * never removed.
 */
function changesTo(
  { config, state }: Pick<StreamInfo, "config" | "state">,
  {
    maxBytes,
    maxAgeMs,
    agesOut,
    replicas,
    setting,
  }: Omit<StreamPlan, "name" | "subject"> & { readonly replicas: number },
): StreamChanges {
  const changes: Partial<StreamConfig>[] = [];
  const isLower = config.max_bytes === -1 || maxBytes < config.max_bytes;
  const isTooFull = isLower && state.bytes > maxBytes / 2;
  if (config.discard !== DiscardPolicy.New) changes.push({ discard: DiscardPolicy.New });
  if (config.max_bytes !== maxBytes && !isTooFull) changes.push({ max_bytes: maxBytes });
  if (agesOut && config.max_age !== nanos(maxAgeMs)) changes.push({ max_age: nanos(maxAgeMs) });
  if (config.num_replicas < replicas) changes.push({ num_replicas: replicas });
  if (!isTooFull) return { changes };
  const held = `${Math.ceil(state.bytes / MIB)} MiB`;
  const kept = `stream keeps its limit (${limitOf(config)}), since it holds ${held}: restart this process once the stream holds at most half of ${setting}=${maxBytes / MIB}`;
  return { changes, kept };
}

const limitOf = ({ max_bytes }: StreamConfig): string =>
  max_bytes === -1 ? "none" : `${Math.floor(max_bytes / MIB)} MiB`;

function adviceOn(plan: StreamPlan, change: Partial<StreamConfig>, cause: unknown): string {
  const reason = textOf(cause);
  if (change.max_bytes !== undefined)
    return `${reason}; give JetStream more storage (max_file_store), or lower ${plan.setting}`;
  if (change.num_replicas !== undefined)
    return `${reason}; ${change.num_replicas} replicas need as many servers with JetStream: start them, or lower SONDE_NATS_REPLICAS`;
  return `${reason}; check the permissions of the user`;
}

/**
 * Creates the streams, or adapts existing ones to the settings. Retries each step for 10 s: a
 * cluster that starts at the same time needs a moment to find its servers and elect a leader.
 * Rejects with advice for the operator.
 */
export async function prepareStreams(link: NatsLink, streams: Streams, clock: Clock) {
  const attempt = (): Promise<void> =>
    retry(streams.ensure, {
      clock,
      ...START_RETRIES,
      isRetryable: (cause) => !isForbidden(cause) && !isNoRoom(cause),
    });
  try {
    await attempt().catch(async (cause: unknown) => {
      if (!isPeerMissing(cause) || !streams.settleForOneReplica()) throw cause;
      await attempt();
    });
    await streams.align(clock);
  } catch (cause) {
    if (isForbidden(cause)) throw forbidden(link, cause);
    throw unavailable(
      `NATS at ${link.addresses} did not create the streams of Sonde (${textOf(cause)}): ${streams.needs()}`,
      { cause },
    );
  }
}
