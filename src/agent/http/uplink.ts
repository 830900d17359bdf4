// Checks the agent's own network before it blames a target for a failure that the network may have
// caused.
import type { Clock } from "../../runtime/clock.ts";
import type { FailureCode } from "./failure.ts";
import { CallFailure } from "./failure.ts";
import { reach } from "../../net/reach.ts";
import type { HostResolver } from "../../net/resolve-host.ts";

/** A failed check also counts for calls that fail within this time after it. */
const STAYS_DOWN_MS = 1000;

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
  try {
    await Promise.any(addresses.map((address) => reach(address, resolver)));
    return false;
  } catch {
    return true;
  }
}
