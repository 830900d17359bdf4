// Agents' questions on plain NATS, as requests; the replies are the hub's answers.
import { randomUUID } from "node:crypto";
import type { CallCredentials, CredentialsRequest } from "../../model/call-credentials.ts";
import type { Heartbeat, HeartbeatAnswer } from "../../model/heartbeat.ts";
import type { Consumer } from "../bus.ts";
import { ANSWER_MS, locationOf } from "../bus.ts";
import type { MessageKind } from "../delivery.ts";
import type { Question, QuestionListener } from "../questions.ts";
import {
  decodeCallCredentials,
  decodeCredentialsRequest,
  decodeHeartbeat,
  decodeHeartbeatAnswer,
} from "./codec.ts";
import type { Asked } from "./codec.ts";
import type { NatsLink } from "./connection.ts";
import type { AgentOpener, Received } from "./opener.ts";
import { answerPlaceOf, placeOf } from "./sealing.ts";
import type { ReceivedMessage, SealerOf } from "./sealing.ts";
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
  readonly decode: (text: string, locationId: string) => Asked<Q>;
  readonly decodeAnswer: (text: string) => A;
}

export const HEARTBEATS: Questions<Heartbeat, HeartbeatAnswer> = {
  kind: "heartbeat",
  subjectOf: heartbeatSubject,
  queue: "aggregator",
  decode: decodeHeartbeat,
  decodeAnswer: decodeHeartbeatAnswer,
};

export const CREDENTIALS: Questions<CredentialsRequest, CallCredentials> = {
  kind: "credentials request",
  subjectOf: credentialsSubject,
  queue: "scheduler",
  decode: decodeCredentialsRequest,
  decodeAnswer: decodeCallCredentials,
};

export interface QuestionsLink {
  readonly link: NatsLink;
  readonly sealerOf: SealerOf;
  readonly opener: AgentOpener;
}

/** Null if no hub answers, or the answer is invalid. */
export async function ask<Q extends Question, A>(
  { link, sealerOf, opener }: QuestionsLink,
  { kind, subjectOf, decodeAnswer }: Questions<Q, A>,
  question: Q,
): Promise<A | null> {
  const locationId = locationOf([question]);
  if (link.fault() !== undefined) return null;
  const nonce = randomUUID();
  const text = JSON.stringify({ nonce, question } satisfies Asked<Q>);
  const data = sealerOf(locationId).seal(text, placeOf(kind, locationId));
  try {
    const { data: answer } = await link.connection.request(subjectOf(locationId), data, {
      timeout: ANSWER_MS,
      noMux: true,
      reply: `${inboxPrefix(locationId)}.${nonce}`,
    });
    const opened = opener.answer(answer, locationId, answerPlaceOf(kind, locationId, nonce));
    return opened === undefined ? null : decodeAnswer(opened);
  } catch {
    return null;
  }
}

/** The prefix of the server's reply subjects between accounts. */
const ACROSS_ACCOUNTS = "_R_.";

/** The hub may publish anywhere, so an asker must not choose an arbitrary reply subject. */
const isInboxOf = (locationId: string, reply = ""): boolean =>
  reply.startsWith(ACROSS_ACCOUNTS) || reply.startsWith(`${inboxPrefix(locationId)}.`);

export function listen<Q extends Question, A>(
  { link, sealerOf }: Pick<QuestionsLink, "link" | "sealerOf">,
  { kind, subjectOf, queue }: Questions<Q, A>,
  receive: (message: ReceivedMessage) => Received<Asked<Q>>,
  listener: QuestionListener<Q, A>,
): Consumer {
  const subscription = link.connection.subscribe(subjectOf("*"), {
    queue,
    callback(err, message) {
      if (err) return; // the connection logs it
      const received = receive(message);
      if (typeof received === "string") return;
      const { nonce, question } = received.content;
      const locationId = locationOfSubject(message.subject);
      void listener.receive(question, (answer) => {
        if (!isInboxOf(locationId, message.reply)) return;
        const place = answerPlaceOf(kind, locationId, nonce);
        message.respond(sealerOf(locationId).seal(JSON.stringify(answer), place));
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
