// Whether the agent's own network works: asked before a target is blamed for a failure that the
// network may have made.
import { connect, isIP } from "node:net";
import type { Clock } from "../../runtime/clock.ts";
import { untilAborted } from "../../runtime/deadline.ts";
import type { FailureCode } from "./failure.ts";
import { CallFailure } from "./failure.ts";
import type { HostResolver } from "../../net/resolve-host.ts";

export interface Uplink {
  /**
   * The failure of a call as it is to be reported: itself, or `uplink_down`. Takes two seconds at
   * most.
   */
  judge(failure: CallFailure): Promise<CallFailure>;
}

/** Time for the SYN and its first repetition (RFC 6298 section 2). */
const CHECK_MS = 2000;
/** A check without an answer counts for calls that fail this soon after it, too. */
const STAYS_DOWN_MS = 1000;
const MOST_ADDRESSES = 6;

const DOUBTFUL: ReadonlySet<FailureCode> = new Set([
  "dns_not_found",
  "dns_timeout",
  "dns_failure",
  "connect_refused",
  "connect_timeout",
  "connect_unreachable",
  "reset",
  "timeout",
]);

/**
 * `addresses` are `host:port`; the uplink is down when none of them can be reached. Without any it
 * is not judged.
 */
export function createUplink({
  addresses,
  clock,
  resolver,
}: {
  readonly addresses: readonly string[];
  readonly clock: Clock;
  readonly resolver: HostResolver;
}): Uplink {
  let check: Promise<boolean> | undefined;
  let downUntil = -Infinity;

  const checkNow = async (): Promise<boolean> => {
    const down = await noneAnswers(addresses, resolver);
    if (down) downUntil = clock.monotonic() + STAYS_DOWN_MS;
    check = undefined;
    return down;
  };

  // An answer counts for calls that failed before it came: the uplink may be lost right after it.
  // So while calls fail and it works, one check follows another.
  const isDown = async (): Promise<boolean> =>
    clock.monotonic() < downUntil || (check ??= checkNow());

  return {
    async judge(failure) {
      if (addresses.length === 0 || !DOUBTFUL.has(failure.code)) return failure;
      return (await isDown())
        ? new CallFailure(
            "uplink_down",
            `the agent's own network does not work, so this says nothing of the target: ${failure.message}`,
            { cause: failure },
          )
        : failure;
    },
  };
}

async function noneAnswers(addresses: readonly string[], resolver: HostResolver): Promise<boolean> {
  const limit = AbortSignal.timeout(CHECK_MS);
  try {
    await Promise.any(addresses.map((address) => answers(address, resolver, limit)));
    return false;
  } catch {
    return true;
  }
}

/** Rejects when there is no answer from any address of the host. */
async function answers(address: string, resolver: HostResolver, limit: AbortSignal): Promise<void> {
  const colon = address.lastIndexOf(":");
  const name = address.slice(0, colon).replace(/^\[|\]$/g, "");
  const port = Number(address.slice(colon + 1));
  const hosts = isIP(name)
    ? [name]
    : await untilAborted(
        resolver.resolve(name),
        limit,
        () => new Error(`${name} was not looked up in time`),
      );
  await Promise.any(hosts.slice(0, MOST_ADDRESSES).map((host) => takes(host, port, limit)));
}

/** A refusal is an answer: it came over the network. */
function takes(host: string, port: number, limit: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port });
    const settle = (done: () => void): void => {
      limit.removeEventListener("abort", expire);
      socket.destroy();
      done();
    };
    const expire = (): void => settle(() => reject(new Error(`${host} does not answer`)));
    if (limit.aborted) return expire();
    limit.addEventListener("abort", expire, { once: true });
    socket.once("connect", () => settle(resolve));
    socket.on("error", (cause: NodeJS.ErrnoException) =>
      settle(
        cause.code === "ECONNREFUSED" || cause.code === "ECONNRESET"
          ? resolve
          : () => reject(cause),
      ),
    );
  });
}
