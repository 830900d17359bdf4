// Distinguishes the errors of NATS.
import { JetStreamApiCodes, JetStreamApiError } from "@nats-io/jetstream";
import { errors } from "@nats-io/transport-node";

const NAME_IN_USE = 10_058;
const NO_SUITABLE_PEERS = 10_005;
const NOT_CLUSTERED = 10_074;
const STORE_FAILED = 10_077;
const ACCOUNT_EXCEEDED = 10_002;
const INSUFFICIENT_RESOURCES = 10_023;
const INSUFFICIENT_STORAGE = 10_047;
const CONSUMER_DIFFERS = 10_148;
const MESSAGE_OVER_MAXIMUM = 10_054;

const hasCode = (cause: unknown, ...codes: readonly number[]): boolean =>
  cause instanceof JetStreamApiError && codes.includes(cause.code);

export const isStreamMissing = (cause: unknown): boolean =>
  hasCode(cause, JetStreamApiCodes.StreamNotFound);

export const isConsumerMissing = (cause: unknown): boolean =>
  hasCode(cause, JetStreamApiCodes.ConsumerNotFound);

/** A stream with this name exists with other settings. */
export const isNameInUse = (cause: unknown): boolean => hasCode(cause, NAME_IN_USE);

/** There are fewer servers with JetStream than the stream has replicas. */
export const isPeerMissing = (cause: unknown): boolean =>
  hasCode(cause, NO_SUITABLE_PEERS, NOT_CLUSTERED);

/** A consumer with this name exists with other settings. */
export const isConsumerDifferent = (cause: unknown): boolean => hasCode(cause, CONSUMER_DIFFERS);

/** The message is larger than the `max_msg_size` of its stream. */
export const isOverMaximum = (cause: unknown): boolean => hasCode(cause, MESSAGE_OVER_MAXIMUM);

/** The stream or the server's storage has no room for the message. */
export const isNoRoom = (cause: unknown): boolean =>
  hasCode(cause, STORE_FAILED) || isNoStorage(cause);

/** The storage of the server or the account has no room, whatever the limit of the stream. */
export const isNoStorage = (cause: unknown): boolean =>
  hasCode(cause, ACCOUNT_EXCEEDED, INSUFFICIENT_RESOURCES, INSUFFICIENT_STORAGE);

/** Nobody answers on the subject: the stream, the consumer or JetStream is missing. */
export const isNoResponders = (cause: unknown): boolean =>
  isCausedBy(cause, errors.NoRespondersError);

/** The server, or the account, has no JetStream. The client library does not export the class. */
export const isNotEnabled = (cause: unknown): boolean =>
  cause instanceof Error && cause.name === "JetStreamNotEnabled";

/** The credential does not allow the request. */
export const isForbidden = (cause: unknown): boolean =>
  isCausedBy(cause, errors.PermissionViolationError);

/** Nobody answered in time, which a stall of the server or of this process also causes. */
export const isTimeout = (cause: unknown): boolean => isCausedBy(cause, errors.TimeoutError);

function isCausedBy(fault: unknown, kind: new (...args: never[]) => Error): boolean {
  if (!(fault instanceof Error)) return false;
  const { cause } = fault;
  return fault instanceof kind || isCausedBy(cause, kind);
}

/** The random parts of reply subjects, which differ in each attempt: of nats.js, and UUIDs. */
const NONCES = /\.(?:[A-Za-z\d]{22}|[\da-f-]{36})(?![\w-])/g;

export const withoutNonces = (text: string): string => text.replaceAll(NONCES, ".…");

/** What the credential may not do, the same in each attempt; undefined for other errors. */
export function forbiddenIn(cause: unknown): string | undefined {
  if (!(cause instanceof errors.PermissionViolationError)) return undefined;
  const { operation, subject } = cause;
  return `${operation} ${withoutNonces(subject).split(".", 3).join(".")}`;
}

export const textOf = (cause: unknown): string =>
  cause instanceof Error ? cause.message : String(cause);
