// Checks the agent's own network before it blames a target for a failure that the network may have
// caused.
import { connect, isIP } from "node:net";
import type { Clock } from "../../runtime/clock.ts";
import { untilAborted } from "../../runtime/deadline.ts";
import type { FailureCode } from "./failure.ts";
import { CallFailure } from "./failure.ts";
import type { HostResolver } from "../../net/resolve-host.ts";

/** Time for the SYN and one retransmission (RFC 6298 section 2). */
const CHECK_MS = 2000;
/** A failed check also counts for calls that fail within this time after it. */
const STAYS_DOWN_MS = 1000;
const MAX_ADDRESSES = 6;

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
 * `addresses` are `host:port`; the uplink is down when none is reachable. Without addresses, there
 * is no check.
 */
export function createUplink({
  addresses,
  clock,
  resolver,
}: {
  readonly addresses: readonly string[];
  readonly clock: Clock;
  readonly resolver: HostResolver;
}) {
  let check: Promise<boolean> | undefined;
  let downUntil = -Infinity;

  const checkNow = async (): Promise<boolean> => {
    const down = await noneAnswers(addresses, resolver);
    if (down) downUntil = clock.monotonic() + STAYS_DOWN_MS;
    check = undefined;
    return down;
  };

  // A successful check covers only calls that failed before it ended: the uplink may go down right
  // after it. So while calls fail, one check follows another.
  const isDown = async (): Promise<boolean> =>
    clock.monotonic() < downUntil || (check ??= checkNow());

  return {
    /** Resolves within two seconds with the failure to report: the given one, or `uplink_down`. */
    async judge(failure: CallFailure): Promise<CallFailure> {
      if (addresses.length === 0 || !DOUBTFUL.has(failure.code)) return failure;
      return (await isDown())
        ? new CallFailure(
            "uplink_down",
            `the agent's own network is down, so this says nothing about the target: ${failure.message}`,
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

/** Rejects if no address of the host answers. */
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
  await Promise.any(hosts.slice(0, MAX_ADDRESSES).map((host) => answersAt(host, port, limit)));
}

/** A refusal counts as an answer: it came over the network. */
function answersAt(host: string, port: number, limit: AbortSignal): Promise<void> {
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
