// Dials a target's addresses over TCP, one after another.
import { connect, isIP } from "node:net";
import type { Socket } from "node:net";
import { startTimer } from "../../runtime/deadline.ts";
import type { Deadline } from "../../runtime/deadline.ts";
import { CallFailure, connectFailure } from "./failure.ts";
import type { FailureCode } from "./failure.ts";
import { beginWait } from "./trace.ts";
import type { Trace } from "./trace.ts";

// A name may have hundreds of addresses.
const MAX_ADDRESSES = 6;
// For every address but the last: time for the SYN and one retransmission (RFC 6298 section 2).
const ATTEMPT_MS = 2000;

export interface Dialling {
  readonly trace: Trace;
  /** Ends the attempt, as a timeout of connecting. */
  readonly deadline: Deadline;
}

/**
 * Tries one address after another until one connects; each gets its share of the time left. Rejects
 * with a `CallFailure`.
 */
export async function dial(
  addresses: readonly string[],
  port: number,
  dialling: Dialling,
): Promise<Socket> {
  const { deadline } = dialling;
  const failures: CallFailure[] = [];
  const tried = addresses.slice(0, MAX_ADDRESSES);
  for (const [at, address] of tried.entries()) {
    const untried = tried.length - at;
    const limit = untried === 1 ? null : Math.min(ATTEMPT_MS, deadline.leftMs() / untried);
    try {
      return await dialOne(address, port, limit, dialling);
    } catch (cause) {
      failures.push(cause as CallFailure);
      if (deadline.isOver()) break;
    }
  }
  throw combined(failures);
}

// These say least about the target: the machine may, for example, lack the address family.
const LEAST_SPECIFIC: readonly FailureCode[] = ["agent_error", "connect_unreachable"];

/** The last failure that says something about the target represents them all. */
function combined(failures: readonly CallFailure[]): CallFailure {
  const chosen =
    failures.findLast(({ code }) => !LEAST_SPECIFIC.includes(code)) ??
    failures.findLast(({ code }) => code === "agent_error") ??
    failures.at(-1) ??
    new CallFailure("dns_not_found", "the host has no address");
  const others = failures.filter((failure) => failure !== chosen).map(({ message }) => message);
  if (others.length === 0) return chosen;
  const text = chosen.message.slice(chosen.code.length + 2);
  return new CallFailure(chosen.code, `${text}; the other addresses: ${others.join("; ")}`, {
    cause: chosen,
  });
}

function dialOne(
  address: string,
  port: number,
  limitMs: number | null,
  { trace, deadline }: Dialling,
): Promise<Socket> {
  const target = isIP(address) === 6 ? `[${address}]:${port}` : `${address}:${port}`;
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address, port, noDelay: true });
    let endWait: (() => void) | undefined;
    // Node sends the SYN in the next tick.
    process.nextTick(() => (endWait = beginWait(trace)));
    let settled = false;
    const settle = (): void => {
      settled = true;
      stopTimer?.();
      deadline.watch(undefined);
    };
    const fail = (failure: CallFailure): void => {
      settle();
      socket.destroy();
      reject(failure);
    };
    const expire = (): void => fail(new CallFailure("connect_timeout", `${target} did not answer`));
    const stopTimer = limitMs === null ? undefined : startTimer(limitMs, expire);
    if (deadline.isOver()) return expire();
    deadline.watch(expire);
    // Stays for the life of the socket: a late error must not end the process.
    socket.on("error", (cause) => {
      if (!settled) fail(connectFailure(cause, target));
    });
    socket.once("connect", () => {
      if (isSelfConnection(socket))
        return fail(new CallFailure("connect_refused", `nothing listens on ${target}`));
      endWait?.();
      settle();
      resolve(socket);
    });
  });
}

/**
 * TCP connects a socket to itself (simultaneous open, RFC 9293 section 3.5) if its own port happens
 * to be the one that it dials.
 */
export const isSelfConnection = ({
  localAddress,
  localPort,
  remoteAddress,
  remotePort,
}: Socket): boolean => localPort === remotePort && localAddress === remoteAddress;
