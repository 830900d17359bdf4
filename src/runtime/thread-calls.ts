// Calls between two threads over a message port: each end calls the other's functions.
import type { MessagePort } from "node:worker_threads";

type Message =
  | { readonly ask: number; readonly name: string; readonly content: unknown }
  | { readonly answer: number; readonly value?: unknown; readonly failure?: string };

/** A port or a worker. */
export type ThreadPort = Pick<MessagePort, "postMessage"> & {
  on(event: "message", listener: (message: Message) => void): unknown;
};

/** Functions with at most one argument, which another thread calls. */
type Calls<T> = { readonly [Name in keyof T]: (content: never) => unknown };

/**
 * The functions of the other thread. Arguments and answers are cloned; a call rejects with the
 * message of the other end's error, or with the reason given to `lose`.
 */
type Remote<T extends Calls<T>> = {
  readonly [Name in keyof T]: (
    ...content: Parameters<T[Name]>
  ) => Promise<Awaited<ReturnType<T[Name]>>>;
};

/** `own`: what the other end may call; `Theirs`: what it lets this end call. */
export function connectThreads<Theirs extends Calls<Theirs>>(port: ThreadPort, own: object) {
  const answers = new Map<string, (content: unknown) => unknown>(Object.entries(own));
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let asked = 0;
  let lost: Error | undefined;

  async function answer(ask: number, name: string, content: unknown): Promise<void> {
    try {
      const value = await answers.get(name)?.(content);
      port.postMessage({ answer: ask, value });
    } catch (cause) {
      const failure = cause instanceof Error ? cause.message : String(cause);
      port.postMessage({ answer: ask, failure });
    }
  }
  function settle(answered: number, value: unknown, failure?: string): void {
    const asker = waiting.get(answered);
    waiting.delete(answered);
    if (failure === undefined) asker?.resolve(value);
    else asker?.reject(new Error(failure));
  }
  port.on("message", (message) => {
    if ("ask" in message) void answer(message.ask, message.name, message.content);
    else settle(message.answer, message.value, message.failure);
  });

  function ask(name: string, content: unknown): Promise<unknown> {
    const asker = Promise.withResolvers<unknown>();
    if (lost) asker.reject(lost);
    else {
      waiting.set((asked += 1), asker);
      port.postMessage({ ask: asked, name, content });
    }
    return asker.promise;
  }
  /** Call it when the other end has gone: rejects all pending and later calls. */
  function lose(reason: Error): void {
    lost ??= reason;
    for (const { reject } of waiting.values()) reject(lost);
    waiting.clear();
  }
  const callOf = (_: object, name: string | symbol) => (content: unknown) =>
    ask(String(name), content);
  return { theirs: new Proxy({}, { get: callOf }) as Remote<Theirs>, lose };
}
