// Opens the secrets of a tick, which are sealed for this location where it leaves the hub.
import { placeOf, tickSecretsValidator, withSecrets } from "../model/tick.ts";
import type { Tick, TickSecrets } from "../model/tick.ts";
import { SealError } from "../runtime/secrets.ts";
import type { Sealer } from "../runtime/secrets.ts";

/**
 * The tick with its secrets in their places, or why they cannot be opened: a sentence for the
 * operator. `sealer` has the location's keys.
 */
export async function openTick(tick: Tick, sealer: Sealer | undefined): Promise<Tick | string> {
  if (tick.sealed === undefined) return tick;
  if (!sealer)
    return "no_location_key: the agent has no key for the run's credentials; give it SONDE_LOCATION_KEY, which `sonde locations env` prints";
  try {
    const secrets = read(await sealer.open(tick.sealed, placeOf(tick)));
    return secrets
      ? withSecrets(tick, secrets)
      : "agent_error: this agent cannot read the run's credentials; its version may be older than the hub's";
  } catch (cause) {
    if (!(cause instanceof SealError)) throw cause;
    return "wrong_location_key: the agent's SONDE_LOCATION_KEY does not open the run's credentials; `sonde locations env` prints the current one";
  }
}

function read(text: string): TickSecrets | undefined {
  try {
    const secrets: unknown = JSON.parse(text);
    return tickSecretsValidator.accepts(secrets) ? secrets : undefined;
  } catch {
    return undefined;
  }
}
