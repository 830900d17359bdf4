// The agent's sign of life.
import type { Bus } from "../bus/bus.ts";
import { HEARTBEAT_INTERVAL_MS } from "../model/location.ts";
import type { Heartbeat } from "../model/location.ts";
import type { Logger } from "../runtime/logger.ts";

/** Sends one now and then regularly, until the returned function is called. One that fails is not repeated. */
export function sendHeartbeats(
  bus: Bus,
  log: Logger,
  read: () => Heartbeat,
): () => void {
  const send = (): void => {
    bus
      .publishHeartbeat(read())
      .catch((cause: unknown) =>
        log.debug({ err: cause }, "heartbeat not published"),
      );
  };
  send();
  const timer = setInterval(send, HEARTBEAT_INTERVAL_MS);
  return () => clearInterval(timer);
}
