// Reads the document rows of a test database, and damages the secrets in them.
import { connect } from "./stores.ts";
import type { TestDatabase } from "./stores.ts";

type Stored = Pick<TestDatabase, "location">;

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
