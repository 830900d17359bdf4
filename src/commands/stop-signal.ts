// SIGINT, SIGTERM and SIGHUP, while a command runs.
import { systemClock } from "../runtime/clock.ts";

/**
 * `npm start` forwards Ctrl-C, so the process gets it twice: a repeat this soon is the same signal.
 */
const SAME_SIGNAL_MS = 500;
/** The exit code with which shells report SIGINT. */
const INTERRUPTED = 130;

/** SIGHUP: the terminal was closed. Node receives it even under `nohup`. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * `stop` resolves at the first of these signals. A later SIGINT ends the process immediately.
 * Dispose it when the command ends.
 */
export function listenForStop() {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let first: number | undefined;
  const listener = (signal: NodeJS.Signals): void => {
    first ??= systemClock.monotonic();
    const isRepeated = systemClock.monotonic() - first > SAME_SIGNAL_MS;
    if (isRepeated && signal === "SIGINT") process.exit(INTERRUPTED);
    resolve(signal);
  };
  for (const signal of SIGNALS) process.on(signal, listener);
  return {
    stop: promise,
    [Symbol.dispose](): void {
      for (const signal of SIGNALS) process.off(signal, listener);
    },
  };
}

/**
 * `signal` aborts at the first of these signals, with an error in these words. Dispose it when the
 * command ends.
 */
export function abortOnStop(
  words: (stopped: NodeJS.Signals) => string,
): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  const listening = listenForStop();
  void listening.stop.then((stopped) => controller.abort(new Error(words(stopped))));
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => listening[Symbol.dispose](),
  };
}
