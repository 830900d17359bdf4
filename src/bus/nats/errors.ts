// Distinguishes the errors of NATS.
import { JetStreamApiCodes, JetStreamApiError } from "@nats-io/jetstream";
import { errors } from "@nats-io/transport-node";

const NAME_IN_USE = 10_058;
const CONSUMER_DIFFERS = 10_148;
const MESSAGE_OVER_MAXIMUM = 10_054;

const hasCode = (cause: unknown, code: number): boolean =>
  cause instanceof JetStreamApiError && cause.code === code;

export const isStreamMissing = (cause: unknown): boolean =>
  hasCode(cause, JetStreamApiCodes.StreamNotFound);

/** A stream with this name exists, with other settings. */
export const isNameInUse = (cause: unknown): boolean => hasCode(cause, NAME_IN_USE);

/** A consumer with this name exists, with other settings. */
export const isConsumerDifferent = (cause: unknown): boolean => hasCode(cause, CONSUMER_DIFFERS);

/** The message is larger than the `max_msg_size` of its stream. */
export const isOverMaximum = (cause: unknown): boolean => hasCode(cause, MESSAGE_OVER_MAXIMUM);

/** Nobody answers on the subject: the stream, the consumer or JetStream is missing. */
export const isNoResponders = (cause: unknown): boolean =>
  isCausedBy(cause, errors.NoRespondersError);

/** The credential does not allow it. */
export const isForbidden = (cause: unknown): boolean =>
  isCausedBy(cause, errors.PermissionViolationError);

function isCausedBy(fault: unknown, kind: new (...args: never[]) => Error): boolean {
  if (!(fault instanceof Error)) return false;
  const { cause } = fault;
  return fault instanceof kind || isCausedBy(cause, kind);
}

export const textOf = (cause: unknown): string =>
  cause instanceof Error ? cause.message : String(cause);
