// Tries to reach a host, as `host:port`: whatever it answers proves that the network works.
import { once } from "node:events";
import { connect, isIP } from "node:net";
import { untilAborted } from "../runtime/deadline.ts";
import { splitHostPort } from "./host-port.ts";
import type { HostResolver } from "./resolve-host.ts";

/** Time for the SYN and one retransmission (RFC 6298 section 2). */
const WITHIN_MS = 2000;
const MAX_ADDRESSES = 6;

/**
 * Resolves when an address of `host:port` answers. Rejects if none does within two seconds: with
 * the failure of the lookup, or that of the first address.
 */
export async function reach(hostPort: string, resolver: HostResolver): Promise<void> {
  const { host, port } = splitHostPort(hostPort);
  const limit = AbortSignal.timeout(WITHIN_MS);
  const addresses = isIP(host)
    ? [host]
    : await untilAborted(resolver.resolve(host), limit, noAnswer);
  const attempts = addresses
    .slice(0, MAX_ADDRESSES)
    .map((address) => reachAddress(address, port, limit));
  await Promise.any(attempts).catch(() => attempts[0]);
}

const noAnswer = (): Error => new Error(`no answer within ${WITHIN_MS / 1000} s`);

// They came over the network.
const REFUSALS: readonly unknown[] = ["ECONNREFUSED", "ECONNRESET"];

async function reachAddress(host: string, port: number, limit: AbortSignal): Promise<void> {
  const socket = connect({ host, port });
  try {
    await once(socket, "connect", { signal: limit });
  } catch (cause) {
    if (limit.aborted) throw noAnswer();
    if (!REFUSALS.includes((cause as NodeJS.ErrnoException).code)) throw cause;
  } finally {
    socket.destroy();
  }
}
