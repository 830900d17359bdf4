// Keeps answers for repeated requests. They are sealed: some hold secrets that are shown only once.
import type { Sealer } from "../runtime/sealer.ts";
import type { Database } from "./database.ts";
import type { Sealing } from "./documents/documents.ts";
import type { KeptAnswer } from "./records.ts";
import { registerKey } from "./sealing-keys.ts";

const placeOf = (id: string) => `kept_answers/${id}`;

export const createAnswerStore = ({ kysely }: Database, { sealer }: Sealing) => ({
  /**
   * Returns undefined for the first request since `since`, which must keep its answer in the same
   * transaction. Others wait for that transaction to end and get the kept answer. Call it in a
   * transaction.
   */
  async claim(id: string, now: number, since: number): Promise<KeptAnswer | undefined> {
    await kysely
      .deleteFrom("kept_answers")
      .where("id", "=", id)
      .where("created", "<", since)
      .execute();
    // Waits for the transaction that has inserted the same id, and reads what it kept in the same
    // statement: `forget` may come at any time.
    const { sealed } = await kysely
      .insertInto("kept_answers")
      .values({ id, created: now, sealed: "" })
      .onConflict((conflict) =>
        conflict.column("id").doUpdateSet((eb) => ({ id: eb.ref("kept_answers.id") })),
      )
      .returning("sealed")
      .executeTakeFirstOrThrow();
    if (sealed === "") return undefined;
    return JSON.parse(await sealer.open(sealed, placeOf(id))) as KeptAnswer;
  },
  /** Returns the size of the answer as it is stored, in bytes. */
  async keep(id: string, answer: KeptAnswer): Promise<number> {
    await registerKey({ kysely }, sealer);
    const sealed = await sealer.seal(JSON.stringify(answer), placeOf(id));
    await kysely.updateTable("kept_answers").set({ sealed }).where("id", "=", id).execute();
    return Buffer.byteLength(sealed);
  },
  /** Makes the next request count as the first again. */
  async forget(id: string): Promise<void> {
    await kysely.deleteFrom("kept_answers").where("id", "=", id).execute();
  },
  async prune(before: number): Promise<void> {
    await kysely.deleteFrom("kept_answers").where("created", "<", before).execute();
  },
});

export const resealAnswer = async (
  { id, sealed }: { readonly id: string; readonly sealed: string },
  sealer: Sealer,
): Promise<string> => sealer.seal(await sealer.open(sealed, placeOf(id)), placeOf(id));
