// Connects to a test database; reads its document rows, and damages the secrets in them.
import { systemClock } from "../../src/runtime/clock.ts";
import type { Database } from "../../src/store/database.ts";
import { openPostgres } from "../../src/store/postgres/postgres.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import type { TestDatabase } from "./stores.ts";

type Stored = Pick<TestDatabase, "location">;

export const connect = ({ location }: Stored): Database =>
  "url" in location
    ? openPostgres({ url: location.url })
    : openSqlite({ path: location.file, clock: systemClock });

export async function storedText(database: Stored, id: string): Promise<string> {
  await using raw = connect(database).kysely;
  const row = await raw
    .selectFrom("documents")
    .select("document")
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
  return row.document;
}

// The last part of a compact JWE authenticates its content.
const TAGS = /(\.\.[\w-]+\.[\w-]+\.)([\w-])/g;

/** Makes the document's secrets undecryptable. Returns its row. */
export async function damageSecrets(database: Stored, id: string): Promise<string> {
  const text = await storedText(database, id);
  const damaged = text.replaceAll(
    TAGS,
    (_, before: string, first: string) => `${before}${first === "A" ? "B" : "A"}`,
  );
  if (damaged === text) throw new Error(`${id} has no secrets`);
  await using raw = connect(database).kysely;
  await raw.updateTable("documents").set({ document: damaged }).where("id", "=", id).execute();
  return damaged;
}
