// The master keys that the database is sealed with, and their rotation.
import { sql } from "kysely";
import { keyIdOf, SealError } from "../../runtime/sealer.ts";
import type { Sealer } from "../../runtime/sealer.ts";
import type { Database } from "../database.ts";
import { inTransaction } from "../database.ts";
import type { Sealing } from "../documents/documents.ts";
import { resealDocument, SEALED_KINDS } from "../documents/sealed-documents.ts";
import { resealAnswer } from "../kept-answers.ts";
import type { RotationStep } from "../records.ts";
import { checkPlace, registerKey } from "../sealing-keys.ts";

const BATCH = 100;

export const createMasterKeyStore = (database: Database, { sealer }: Sealing) => ({
  /** The id of the current key. */
  keyId: sealer.keyId,
  /**
   * Registers the current key as one of the database's sealing keys. Rejects, changing nothing,
   * unless the process holds every registered key.
   */
  claim: (): Promise<void> =>
    inTransaction(database, async (transaction) => {
      await awaitWrites(transaction);
      await assertKeysHeld(transaction, sealer);
      await registerKey(transaction, sealer);
    }),
  /**
   * Reseals everything that is sealed under another key, row by row and without locks, and
   * unregisters the other keys. Run again after an interruption, it resumes. `onStep` is called
   * about every hundred rows.
   */
  async rotate(onStep: (step: RotationStep) => void): Promise<void> {
    await resealAll(database, sealer, onStep);
    await inTransaction(database, async (transaction) => {
      await awaitWrites(transaction);
      const { kysely } = transaction;
      await kysely.deleteFrom("master_keys").where("key_id", "<>", sealer.keyId).execute();
    });
    // Other processes may have written under a former key until then; since then, they register it.
    await resealAll(database, sealer, () => undefined);
  },
});

/** Waits for transactions that have registered a key. Others wait for the end of this one. */
async function awaitWrites({ kysely, rowLocks }: Database): Promise<void> {
  if (rowLocks) await sql`lock table master_keys in exclusive mode`.execute(kysely);
}

async function resealAll(
  database: Database,
  sealer: Sealer,
  onStep: (step: RotationStep) => void,
): Promise<void> {
  for (const kind of SEALED_KINDS) await resealColumn(documentsOf(database, sealer, kind), onStep);
  await resealColumn(keptAnswers(database, sealer), onStep);
}

/** A registered key. */
export interface MasterKeyRow {
  readonly key_id: string;
  readonly sealed_check: string;
}

/** Rejects with one line for the operator unless the process holds every registered key. */
export const assertKeysHeld = async ({ kysely }: Database, sealer: Sealer): Promise<void> =>
  assertOpens(await kysely.selectFrom("master_keys").selectAll().execute(), sealer);

/** Does the same for the keys of a database that is not open. */
export async function assertOpens(rows: readonly MasterKeyRow[], sealer: Sealer): Promise<void> {
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

interface Row {
  readonly id: string;
  readonly text: string;
}

/** A column of sealed texts, or of texts with sealed parts. */
interface Column {
  readonly what: string;
  /** What to do about a text that no key opens. */
  readonly ifLost: string;
  read(after: string): Promise<Row[]>;
  /** Returns undefined for a row that is sealed under the current key only. */
  reseal(row: Row): Promise<string | undefined>;
  /** Returns false if the row was changed in between. */
  replace(row: Row, text: string): Promise<boolean>;
}

/** Takes no locks: a row that was changed between reading and writing is read again. */
async function resealColumn(column: Column, onStep: (step: RotationStep) => void): Promise<void> {
  const { what } = column;
  let [checked, resealed] = [0, 0];
  for (let after = ""; ;) {
    const rows = await column.read(after);
    for (const row of rows) {
      const text = await column.reseal(row).catch((cause: unknown) => explain(cause, column));
      if (text !== undefined) {
        if (!(await column.replace(row, text))) break;
        resealed += 1;
      }
      checked += 1;
      after = row.id;
    }
    onStep({ what, checked, resealed });
    if (rows.length < BATCH && after === (rows.at(-1)?.id ?? after)) return;
  }
}

/** Throws. */
function explain(cause: unknown, { ifLost }: Column): never {
  if (!(cause instanceof SealError)) throw cause;
  throw new Error(
    `${cause.message}: if you have its key, add it to SONDE_MASTER_KEYS_OLD; if not, ${ifLost}. Then run this again`,
    { cause },
  );
}

const documentsOf = ({ kysely }: Database, sealer: Sealer, kind: string): Column => ({
  what: kind,
  ifLost: "the secret is lost: delete its object",
  read: (after) =>
    kysely
      .selectFrom("documents")
      .select(["id", "document as text"])
      .where("kind", "=", kind)
      .where("id", ">", after)
      .orderBy("id")
      .limit(BATCH)
      .execute(),
  async reseal({ id, text }) {
    const document: unknown = JSON.parse(text);
    const changed = await resealDocument({ kind, id, document }, sealer);
    return changed && JSON.stringify(changed.document);
  },
  async replace({ id, text }, document) {
    const { numUpdatedRows } = await kysely
      .updateTable("documents")
      .set({ document })
      .where("id", "=", id)
      .where("document", "=", text)
      .executeTakeFirstOrThrow();
    return numUpdatedRows > 0n;
  },
});

const keptAnswers = ({ kysely }: Database, sealer: Sealer): Column => ({
  what: "kept answers",
  ifLost: "wait until it expires, a day after its request",
  read: (after) =>
    kysely
      .selectFrom("kept_answers")
      .select(["id", "sealed as text"])
      .where("id", ">", after)
      .orderBy("id")
      .limit(BATCH)
      .execute(),
  reseal: async ({ id, text }) =>
    keyIdOf(text) === sealer.keyId ? undefined : resealAnswer({ id, sealed: text }, sealer),
  async replace({ id, text }, sealed) {
    const { numUpdatedRows } = await kysely
      .updateTable("kept_answers")
      .set({ sealed })
      .where("id", "=", id)
      .where("sealed", "=", text)
      .executeTakeFirstOrThrow();
    return numUpdatedRows > 0n;
  },
});
