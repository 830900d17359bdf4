// Seals the secrets of a tick for the agents of its location.
import { placeOf, secretsOf, withoutSecrets } from "../model/tick.ts";
import type { Tick } from "../model/tick.ts";
import { createSealer } from "../runtime/secrets.ts";
import type { Sealer } from "../runtime/secrets.ts";

export type TickSealer = (tick: Tick) => Promise<Tick>;

/** `keyOf`: the key of a location, 32 bytes. */
export function createTickSealer(keyOf: (locationId: string) => Uint8Array): TickSealer {
  const sealers = new Map<string, Sealer>();
  const sealerOf = (locationId: string): Sealer => {
    const sealer = sealers.get(locationId) ?? createSealer({ current: keyOf(locationId) });
    sealers.set(locationId, sealer);
    return sealer;
  };
  return async (tick) => {
    const secrets = secretsOf(tick);
    if (!secrets) return tick;
    const text = JSON.stringify(secrets);
    const sealed = await sealerOf(tick.location_id).seal(text, placeOf(tick));
    return { ...withoutSecrets(tick), sealed };
  };
}
