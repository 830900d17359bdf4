// Calls between two threads over a message port: each end asks the other by name.
import type { MessagePort } from "node:worker_threads";

type Message =
  | { readonly ask: number; readonly name: string; readonly content: unknown }
  | { readonly answer: number; readonly value?: unknown; readonly failure?: string };

/** A port or a worker. */
export type ThreadPort = Pick<MessagePort, "postMessage"> & {
  on(event: "message", listener: (message: Message) => void): unknown;
};

type Call = (content: never) => unknown;
type Content<F> = F extends Call ? Parameters<F> : never;
type Answer<F> = F extends Call ? Awaited<ReturnType<F>> : never;

export type ThreadCalls<Theirs> = ReturnType<typeof connectThreads<Theirs>>;

/**
 * `own`: the functions, each with one argument, that the other end calls by name; `Theirs`: those
 * of the other end. Arguments and answers are cloned.
 */
export function connectThreads<Theirs>(port: ThreadPort, own: object) {
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

  return {
    /** Rejects with the message of the other end's error, or with the reason given to `lose`. */
    ask<Name extends keyof Theirs & string>(
      name: Name,
      ...[content]: Content<Theirs[Name]>
    ): Promise<Answer<Theirs[Name]>> {
      const asker = Promise.withResolvers<unknown>();
      if (lost) asker.reject(lost);
      else {
        waiting.set((asked += 1), asker);
        port.postMessage({ ask: asked, name, content });
      }
      return asker.promise as Promise<Answer<Theirs[Name]>>;
    },
    /** Call it when the other end has gone: rejects all pending and later questions. */
    lose(reason: Error): void {
      lost ??= reason;
      for (const { reject } of waiting.values()) reject(lost);
      waiting.clear();
    },
  };
}
