// Tracks whether the NATS server answers, from what its client reports.
import type { Status } from "@nats-io/transport-node";
import type { Logger } from "../../runtime/logger.ts";

/** `nats`: the servers' addresses, for the log. */
export function createHealth(nats: string, log: Logger) {
  let fault: string | undefined;
  let reconnecting = false;
  let refusal: string | undefined;
  let reconnects = 0;
  const reconnectListeners = new Set<() => void>();
  let up = Promise.withResolvers<void>();
  up.resolve();

  const down = (reason: string): void => {
    if (fault === undefined) {
      up = Promise.withResolvers();
      log.warn({ nats, reason }, "NATS connection lost; reconnecting");
    }
    fault = reason;
  };
  const restored = (): void => {
    if (fault !== undefined) log.info({ nats }, "NATS connection restored");
    fault = refusal = undefined;
    up.resolve();
  };
  /** While reconnecting, every attempt may fail for the same reason: it is logged once. */
  const noteError = (err: Error): void => {
    const reason = `the server refuses the connection (${err.message})`;
    if (reconnecting && refusal === reason) return;
    if (reconnecting) fault = refusal = reason;
    log.warn({ nats, err }, "NATS reported an error");
  };

  return {
    fault: (): string | undefined => fault,
    reconnects: (): number => reconnects,
    /** Resolves when the server answers. */
    up: (): Promise<void> => up.promise,
    onReconnect(listener: () => void): () => void {
      reconnectListeners.add(listener);
      return () => reconnectListeners.delete(listener);
    },
    follow(status: Status): void {
      // The client is about to ping. With two pings under way, the first had no answer for a whole
      // interval.
      if (status.type === "ping" && status.pendingPings > 1) down("the server does not answer");
      else if (status.type === "ping" && !reconnecting) restored();
      else if (status.type === "disconnect") {
        reconnecting = true;
        down(refusal ?? "reconnecting");
      } else if (status.type === "reconnect") {
        reconnecting = false;
        reconnects += 1;
        restored();
        for (const listener of reconnectListeners) listener();
      } else if (status.type === "error") noteError(status.error);
    },
    close(cause: unknown): void {
      fault = "closed";
      if (cause) log.error({ nats, err: cause }, "NATS connection closed");
    },
  };
}
