// Opens what a tick's secrets were sealed with for this location.
import { placeOf, tickSecretsValidator } from "../model/tick-secrets.ts";
import type { TickSecrets } from "../model/tick-secrets.ts";
import type { Tick } from "../model/tick.ts";
import { createSealer, SealError } from "../runtime/secrets.ts";

/**
 * What the tick has sealed, of all its calls, or why that cannot be had: a sentence for the
 * operator.
 */
export type TickOpener = (tick: Tick) => Promise<TickSecrets | string>;

const NOTHING_SEALED: TickSecrets = { authorizations: {} };

/** `keys`: those of the location, newest first; each 32 bytes. */
export function createTickOpener(keys: readonly Uint8Array[]): TickOpener {
  const [current, ...old] = keys;
  const sealer = current && createSealer({ current, old });
  return async (tick) => {
    if (tick.sealed === undefined) return NOTHING_SEALED;
    if (!sealer)
      return "no_location_key: the agent has no key for the run's credentials; give it SONDE_LOCATION_KEY, which `sonde locations env` prints";
    try {
      const text = await sealer.open(tick.sealed, placeOf(tick));
      return (
        read(text) ??
        "agent_error: the run's credentials are in no form that this agent knows; it may be of an earlier version than the hub"
      );
    } catch (cause) {
      if (!(cause instanceof SealError)) throw cause;
      return "wrong_location_key: the agent's SONDE_LOCATION_KEY does not open the run's credentials; `sonde locations env` prints the one in force";
    }
  };
}

function read(text: string): TickSecrets | undefined {
  try {
    const secrets: unknown = JSON.parse(text);
    return tickSecretsValidator.accepts(secrets) ? secrets : undefined;
  } catch {
    return undefined;
  }
}
