// Which master keys the database is sealed with, and its move from one to another.
import { sql } from "kysely";
import { keyIdOf, SealError } from "../runtime/secrets.ts";
import type { Sealer } from "../runtime/secrets.ts";
import type { Database } from "./database.ts";
import { inTransaction } from "./database.ts";
import { toStoredDocument } from "./documents.ts";
import { resealAnswer } from "./kept-answers.ts";
import type { MasterKeyStore, RotationStep } from "./ports/master-key-store.ts";
import { resealDocument, SEALED_KINDS } from "./sealed-documents.ts";

const CHECK_TEXT = "sonde";
const checkPlace = (keyId: string) => `master_keys/${keyId}`;
const BATCH = 100;

export function createMasterKeyStore(
  database: Database,
  sealer: Sealer,
): MasterKeyStore {
  return {
    claim: () =>
      inTransaction(database, async (transaction) => {
        const { kysely, rowLocks } = transaction;
        if (rowLocks)
          await sql`lock table master_keys in exclusive mode`.execute(kysely);
        await assertKeysHeld(transaction, sealer);
        const { keyId: key_id } = sealer;
        const sealed_check = await sealer.seal(CHECK_TEXT, checkPlace(key_id));
        await kysely
          .insertInto("master_keys")
          .values({ key_id, sealed_check })
          .onConflict((conflict) => conflict.column("key_id").doNothing())
          .execute();
      }),

    async rotate(onStep) {
      for (const kind of SEALED_KINDS)
        await inBatches(kind, onStep, (after) =>
          resealDocuments(database, sealer, kind, after),
        );
      await inBatches("kept answers", onStep, (after) =>
        resealAnswers(database, sealer, after),
      );
      await database.kysely
        .deleteFrom("master_keys")
        .where("key_id", "<>", sealer.keyId)
        .execute();
    },
  };
}

/** Rejects with one line for the operator unless every key that the database is sealed with is held. */
export async function assertKeysHeld(
  { kysely }: Database,
  sealer: Sealer,
): Promise<void> {
  const rows = await kysely.selectFrom("master_keys").selectAll().execute();
  for (const { key_id, sealed_check } of rows) {
    try {
      await sealer.open(sealed_check, checkPlace(key_id));
    } catch (cause) {
      if (!(cause instanceof SealError)) throw cause;
      throw new Error(
        `the database is encrypted with the master key ${key_id}, and this process has ${sealer.keyIds.join(", ")}: set SONDE_MASTER_KEY to the same key in every process, restore the file master-key of the data folder, or add a former key to SONDE_MASTER_KEYS_OLD`,
        { cause },
      );
    }
  }
}

interface Batch {
  readonly checked: number;
  readonly resealed: number;
  /** The last id of the batch; undefined when nothing follows. */
  readonly last: string | undefined;
}

async function inBatches(
  what: string,
  onStep: (step: RotationStep) => void,
  next: (after: string) => Promise<Batch>,
): Promise<void> {
  let [checked, resealed] = [0, 0];
  for (let after: string | undefined = ""; after !== undefined;) {
    const batch: Batch = await next(after);
    checked += batch.checked;
    resealed += batch.resealed;
    after = batch.last;
    onStep({ what, checked, resealed });
  }
}

const batchOf = (
  rows: readonly { readonly id: string }[],
  resealed: number,
): Batch => ({
  checked: rows.length,
  resealed,
  last: rows.length < BATCH ? undefined : rows.at(-1)?.id,
});

const resealDocuments = (
  database: Database,
  sealer: Sealer,
  kind: string,
  after: string,
): Promise<Batch> =>
  inTransaction(database, async ({ kysely, rowLocks }) => {
    const query = kysely
      .selectFrom("documents")
      .selectAll()
      .where("kind", "=", kind)
      .where("id", ">", after)
      .orderBy("id")
      .limit(BATCH);
    const rows = await (rowLocks ? query.forUpdate() : query).execute();
    let resealed = 0;
    for (const row of rows) {
      const changed = await resealDocument(toStoredDocument(row), sealer);
      if (!changed) continue;
      resealed += 1;
      await kysely
        .updateTable("documents")
        .set({ document: JSON.stringify(changed.document) })
        .where("id", "=", row.id)
        .execute();
    }
    return batchOf(rows, resealed);
  });

const resealAnswers = (
  database: Database,
  sealer: Sealer,
  after: string,
): Promise<Batch> =>
  inTransaction(database, async ({ kysely, rowLocks }) => {
    const query = kysely
      .selectFrom("kept_answers")
      .selectAll()
      .where("id", ">", after)
      .orderBy("id")
      .limit(BATCH);
    const rows = await (rowLocks ? query.forUpdate() : query).execute();
    const old = rows.filter(
      ({ sealed }) => sealed !== "" && keyIdOf(sealed) !== sealer.keyId,
    );
    for (const row of old)
      await kysely
        .updateTable("kept_answers")
        .set({ sealed: await resealAnswer(row, sealer) })
        .where("id", "=", row.id)
        .execute();
    return batchOf(rows, old.length);
  });
