// Opens real stores on the adapters named by STORES.
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inject } from "vitest";
import { openStore } from "../../src/store/open-store.ts";
import type { StoreOptions } from "../../src/store/open-store.ts";
import type { Store } from "../../src/store/store.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import type { Clock } from "../../src/runtime/clock.ts";
import { createSealer } from "../../src/runtime/secrets.ts";
import { track } from "./no-leftovers.ts";
import { createDatabase } from "./postgres.ts";

export type StoreKind = "sqlite" | "postgres";

export const storeKinds = (process.env["STORES"] ?? "sqlite").split(",") as StoreKind[];

export interface TestDatabase extends AsyncDisposable {
  readonly location: StoreOptions["location"];
  /** Opens a store, by default on the real clock. Disposing of the database closes its stores. */
  open(clock?: Clock): Promise<Store>;
}

export async function createTestDatabase(kind: StoreKind): Promise<TestDatabase> {
  const untrack = track(`${kind} database`);
  const directory = mkdtempSync(join(tmpdir(), "sonde-store-"));
  const location =
    kind === "sqlite"
      ? { file: join(directory, "sonde.db") }
      : { url: await createDatabase(inject("postgresUrl")) };
  const sealer = createSealer({ current: randomBytes(32) });
  const stores: Store[] = [];
  return {
    location,
    async open(clock) {
      const opened = await openStore({
        location,
        clock: clock ?? systemClock,
        sealer,
      });
      const store = clock ? withClock(opened, clock) : opened;
      stores.push(store);
      return store;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(stores.map((store) => store.close()));
      rmSync(directory, { recursive: true, force: true });
      untrack();
    },
  };
}

/** Replaces the time of the database server, which tests cannot move. */
const withClock = (store: Store, clock: Clock): Store => ({
  ...store,
  now: async () => clock.now(),
  transaction: (work) => store.transaction((inner) => work(withClock(inner, clock))),
});
