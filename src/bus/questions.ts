// Agents' questions to the hub: best effort, neither stored nor redelivered. Each question goes to
// one consumer, which may answer it while the asker waits.
import type { CallCredentials, CredentialsRequest } from "../model/call-credentials.ts";
import type { Heartbeat, HeartbeatAnswer } from "../model/heartbeat.ts";
import { createSemaphore } from "../runtime/semaphore.ts";
import type { Bus, Consumer, QuestionHandler } from "./bus.ts";
import { ANSWER_MS } from "./bus.ts";
import type { MessageKind, Observer } from "./delivery.ts";

export type Question = Heartbeat | CredentialsRequest;

export type QuestionListener<Q extends Question, A> = ReturnType<
  typeof createQuestionListener<Q, A>
>;

/** A location that floods the hub with questions leaves the database to the others. */
const PLACES_OF_LOCATION = 4;

export function createQuestionListener<Q extends Question, A>(
  kind: MessageKind,
  handler: QuestionHandler<Q, A>,
  { log }: Observer,
) {
  const underWay = new Set<Promise<void>>();
  const placesOf = new Map<string, ReturnType<typeof createSemaphore>>();

  function inTurn(question: Q, answer: (content: A) => void): Promise<void> {
    const { location_id } = question;
    const places = placesOf.get(location_id) ?? createSemaphore(PLACES_OF_LOCATION);
    placesOf.set(location_id, places);
    return places.run(AbortSignal.timeout(ANSWER_MS), () => handler(question, answer));
  }
  return {
    /**
     * Resolves when the question is handled, or dropped because its asker no longer waits; never
     * rejects.
     */
    receive(question: Q, answer: (content: A) => void): Promise<void> {
      const work = inTurn(question, answer).catch((err: unknown) => {
        const level = (err as Error).name === "TimeoutError" ? "debug" : "warn";
        log[level]({ err, kind }, "message rejected");
      });
      underWay.add(work);
      void work.then(() => underWay.delete(work));
      return work;
    },
    /** Resolves when the questions received so far are handled. */
    async settled(): Promise<void> {
      await Promise.all(underWay);
    },
  };
}

type Asking =
  "sendHeartbeat" | "consumeHeartbeats" | "requestCredentials" | "consumeCredentialsRequests";

/** Connects askers and answerers within this process. */
export function createQuestionLines(observer: Observer): Pick<Bus, Asking | "close"> {
  const heartbeats = createQuestionLine<Heartbeat, HeartbeatAnswer>("heartbeat", observer);
  const credentials = createQuestionLine<CredentialsRequest, CallCredentials>(
    "credentials request",
    observer,
  );
  return {
    sendHeartbeat: (heartbeat) => heartbeats.ask(heartbeat),
    consumeHeartbeats: (handler) => heartbeats.attach(handler),
    requestCredentials: (request) => credentials.ask(request),
    consumeCredentialsRequests: (handler) => credentials.attach(handler),
    /** Detaches the listeners; resolves when what they received is handled. */
    async close() {
      await Promise.all([heartbeats.close(), credentials.close()]);
    },
  };
}

function createQuestionLine<Q extends Question, A>(kind: MessageKind, observer: Observer) {
  const listeners = new Set<QuestionListener<Q, A>>();
  return {
    /** Resolves with null when nobody listens, or nobody answers in time. */
    async ask(question: Q): Promise<A | null> {
      const [listener] = listeners;
      if (!listener) return null;
      return new Promise((resolve) => {
        const giveUp = (): void => resolve(null);
        const timer = setTimeout(giveUp, ANSWER_MS);
        void listener
          .receive(question, resolve)
          .then(giveUp)
          .finally(() => clearTimeout(timer));
      });
    },
    async attach(handler: QuestionHandler<Q, A>): Promise<Consumer> {
      const listener = createQuestionListener(kind, handler, observer);
      listeners.add(listener);
      return {
        drain() {
          listeners.delete(listener);
          return listener.settled();
        },
      };
    },
    async close(): Promise<void> {
      const listening = [...listeners];
      listeners.clear();
      await Promise.all(listening.map((listener) => listener.settled()));
    },
  };
}
