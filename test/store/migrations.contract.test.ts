import { Migrator } from "kysely/migration";
import { describe, expect, it } from "vitest";
import { MIGRATIONS } from "../../src/store/migrate.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { openPostgres } from "../../src/store/postgres.ts";
import { openSqlite } from "../../src/store/sqlite.ts";
import { aCall, T0 } from "../support/runs.ts";
import { createTestDatabase, storeKinds } from "../support/stores.ts";
import type { TestDatabase } from "../support/stores.ts";

/** The schema as it was before the migration, with these documents. */
async function fillBefore(
  { location }: TestDatabase,
  migration: string,
  documents: readonly { readonly id: string; readonly kind: string }[],
): Promise<void> {
  const { kysely } =
    "url" in location
      ? openPostgres({ url: location.url })
      : openSqlite({ path: location.file, clock: systemClock });
  const earlier = Object.fromEntries(
    Object.entries(MIGRATIONS).filter(([name]) => name < migration),
  );
  const { error } = await new Migrator({
    db: kysely,
    provider: { getMigrations: async () => earlier },
  }).migrateToLatest();
  if (error) throw error;
  const rest = { shared_org: 0, shared_community: 0, document: "{}" };
  await kysely
    .insertInto("documents")
    .values(documents.map((row) => ({ owner: "ann", ...rest, ...row })))
    .execute();
  await kysely.destroy();
}

describe.each(storeKinds)("an earlier schema on %s", (kind) => {
  it("makes each of its tokens that a call uses due for renewal", async () => {
    await using database = await createTestDatabase(kind);
    const [used, alsoUsed, unused] = [aCall().id, aCall().id, aCall().id];
    const call = (token_id: string | null) => ({
      id: aCall().id,
      kind: "call",
      token_id,
    });
    await fillBefore(database, "0006-token-renewals", [
      ...[used, alsoUsed, unused].map((id) => ({
        id,
        kind: "token",
        token_id: null,
      })),
      call(used),
      call(alsoUsed),
      call(null),
    ]);

    const { renewals } = await database.open();

    const due = await renewals.listDue(T0);
    expect(due.map(({ id }) => id)).toEqual([used, alsoUsed].toSorted());
    for (const { id } of due) {
      expect(await renewals.claim(id, T0, T0 + 1)).toBe(true);
      expect(await renewals.release(id, T0 + 1, null)).toBe(true);
    }
    expect(await renewals.listDue(T0 + 1)).toEqual([]);
  });
});
