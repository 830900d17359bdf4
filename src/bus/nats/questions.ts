// Questions of agents on plain NATS: requests, whose replies are the hub's answers.
import type { CallCredentials, CredentialsRequest } from "../../model/call-credentials.ts";
import { locationOf } from "../../model/location.ts";
import type { Heartbeat, HeartbeatAnswer } from "../../model/location.ts";
import type { Consumer } from "../bus.ts";
import { ANSWER_MS } from "../bus.ts";
import type { MessageKind } from "../delivery.ts";
import type { QuestionListener } from "../questions.ts";
import {
  decodeCallCredentials,
  decodeCredentialsRequest,
  decodeHeartbeat,
  decodeHeartbeatAnswer,
  encodeCallCredentials,
  encodeHeartbeatAnswer,
  encodeQuestion,
} from "./codec.ts";
import type { ReceivedMessage } from "./codec.ts";
import type { NatsLink } from "./connection.ts";
import {
  credentialsSubject,
  heartbeatSubject,
  inboxPrefix,
  locationOfSubject,
} from "./topology.ts";

/** How one kind of question travels. */
export interface Questions<Q, A> {
  readonly kind: MessageKind;
  readonly subjectOf: (locationId: string) => string;
  /** Consumers with the same name share the questions. */
  readonly queue: string;
  readonly decode: (data: Uint8Array, locationId: string) => Q;
  readonly encodeAnswer: (answer: A) => Uint8Array;
  readonly decodeAnswer: (data: Uint8Array) => A;
}

export const HEARTBEATS: Questions<Heartbeat, HeartbeatAnswer> = {
  kind: "heartbeat",
  subjectOf: heartbeatSubject,
  queue: "aggregator",
  decode: decodeHeartbeat,
  encodeAnswer: encodeHeartbeatAnswer,
  decodeAnswer: decodeHeartbeatAnswer,
};

export const CREDENTIALS: Questions<CredentialsRequest, CallCredentials> = {
  kind: "credentials request",
  subjectOf: credentialsSubject,
  queue: "scheduler",
  decode: decodeCredentialsRequest,
  encodeAnswer: encodeCallCredentials,
  decodeAnswer: decodeCallCredentials,
};

/** Null when no hub answers, or with something else. */
export async function ask<Q extends Heartbeat | CredentialsRequest, A>(
  link: NatsLink,
  { subjectOf, decodeAnswer }: Questions<Q, A>,
  question: Q,
): Promise<A | null> {
  const subject = subjectOf(locationOf([question]));
  if (link.fault() !== undefined) return null;
  const data = encodeQuestion(question);
  try {
    const answer = await link.connection.request(subject, data, { timeout: ANSWER_MS });
    return decodeAnswer(answer.data);
  } catch {
    return null;
  }
}

/**
 * The hub may publish anywhere, so whoever asks must not choose any subject for the answer. The
 * server names the replies that go to another account `_R_.…`.
 */
const isInboxOf = (locationId: string, reply = ""): boolean =>
  ["_R_.", "_INBOX.", `${inboxPrefix(locationId)}.`].some((prefix) => reply.startsWith(prefix));

/** `decoded`: the question, or undefined for a message that is dropped. */
export function listen<Q, A>(
  { connection }: NatsLink,
  { subjectOf, queue, encodeAnswer }: Questions<Q, A>,
  decoded: (message: ReceivedMessage) => Q | undefined,
  listener: QuestionListener<Q, A>,
): Consumer {
  const subscription = connection.subscribe(subjectOf("*"), {
    queue,
    callback(err, message) {
      if (err) return; // the connection logs it
      const question = decoded(message);
      if (question === undefined) return;
      const isInbox = isInboxOf(locationOfSubject(message.subject), message.reply);
      void listener.receive(question, (answer) => {
        if (isInbox) message.respond(encodeAnswer(answer));
      });
    },
  });
  return {
    drain() {
      subscription.unsubscribe();
      return listener.settled();
    },
  };
}
