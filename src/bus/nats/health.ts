// Tracks whether the NATS server answers, from what its client reports.
import type { Status } from "@nats-io/transport-node";
import type { Logger } from "../../runtime/logger.ts";
import { forbiddenIn } from "./errors.ts";

/** `nats`: the servers' addresses, for the log. */
export function createHealth(nats: string, log: Logger) {
  let fault: string | undefined;
  let refusal: string | undefined;
  let [reconnecting, reconnects] = [false, 0];
  let refused = false; // by the latest attempt to reconnect
  const denials = createDenials();
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
    const known = refusal;
    refused = reconnecting;
    if (refused) fault = refusal = `the server refuses the connection (${err.message})`;
    if ((refused && refusal === known) || denials.isKnown(err)) return;
    log.warn({ nats, err }, "NATS reported an error");
  };

  return {
    fault: (): string | undefined => fault,
    reconnects: (): number => reconnects,
    /** Resolves when the server answers. */
    up: (): Promise<void> => up.promise,
    follow(status: Status): void {
      // About to ping. With two pings under way, the first had no answer for a whole interval.
      if (status.type === "ping" && status.pendingPings > 1) down("the server does not answer");
      else if (status.type === "ping" && !reconnecting) restored();
      else if (status.type === "disconnect") {
        reconnecting = true;
        down(fault ?? "reconnecting");
      } else if (status.type === "reconnecting") {
        if (reconnecting && !refused) fault = "reconnecting"; // the server no longer answers at all
        refused = false;
      } else if (status.type === "reconnect") {
        reconnecting = false;
        reconnects += 1;
        denials.clear();
        restored();
      } else if (status.type === "error") noteError(status.error);
    },
    close(cause: unknown): void {
      fault = "closed";
      if (cause) log.error({ nats, err: cause }, "NATS connection closed");
    },
  };
}

/** What the credential may not do: each counts once for a connection. */
function createDenials() {
  const known = new Set<string>();
  return {
    isKnown(err: Error): boolean {
      const denied = forbiddenIn(err);
      if (denied === undefined || known.has(denied)) return denied !== undefined;
      known.add(denied);
      return false;
    },
    clear: () => known.clear(),
  };
}
