// The accounts of NATS for tests, as `sonde locations nats-config` writes them.
import { createHash } from "node:crypto";
import { accountsConfig } from "../../src/bus/nats/accounts.ts";
import { publicKeyOf, userSeedOf } from "../../src/bus/nats/nkey.ts";

export interface NatsAccounts {
  /** Configuration of the servers. */
  readonly config: string;
  readonly hubSeed: string;
  readonly seedOf: (locationId: string) => string;
}

const seedOf = (name: string): string => userSeedOf(createHash("sha256").update(name).digest());

export function natsAccounts(locationIds: readonly string[]): NatsAccounts {
  const locations = locationIds.map((id) => ({ id, users: [publicKeyOf(seedOf(`of ${id}`))] }));
  return {
    config: accountsConfig([publicKeyOf(seedOf("hub"))], locations),
    hubSeed: seedOf("hub"),
    seedOf: (locationId) => seedOf(`of ${locationId}`),
  };
}
