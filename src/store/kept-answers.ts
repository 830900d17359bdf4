// Answers kept for repeated requests, sealed: some hold what is shown only once.
import type { Sealer } from "../runtime/secrets.ts";
import type { Database } from "./database.ts";
import type { AnswerStore, KeptAnswer } from "./ports/answer-store.ts";

const placeOf = (id: string) => `kept_answers/${id}`;

export function createAnswerStore({ kysely }: Database, sealer: Sealer): AnswerStore {
  return {
    async claim(id, now, since) {
      await kysely
        .deleteFrom("kept_answers")
        .where("id", "=", id)
        .where("created", "<", since)
        .execute();
      // Waits for whoever inserted the same id and has not committed yet.
      const { numInsertedOrUpdatedRows } = await kysely
        .insertInto("kept_answers")
        .values({ id, created: now, sealed: "" })
        .onConflict((conflict) => conflict.column("id").doNothing())
        .executeTakeFirstOrThrow();
      if ((numInsertedOrUpdatedRows ?? 0n) > 0n) return undefined;
      const { sealed } = await kysely
        .selectFrom("kept_answers")
        .select("sealed")
        .where("id", "=", id)
        .executeTakeFirstOrThrow();
      return JSON.parse(await sealer.open(sealed, placeOf(id))) as KeptAnswer;
    },
    async keep(id, answer) {
      const sealed = await sealer.seal(JSON.stringify(answer), placeOf(id));
      await kysely.updateTable("kept_answers").set({ sealed }).where("id", "=", id).execute();
    },
    async forget(id) {
      await kysely.deleteFrom("kept_answers").where("id", "=", id).execute();
    },
    async prune(before) {
      await kysely.deleteFrom("kept_answers").where("created", "<", before).execute();
    },
  };
}

export const resealAnswer = async (
  { id, sealed }: { readonly id: string; readonly sealed: string },
  sealer: Sealer,
): Promise<string> => sealer.seal(await sealer.open(sealed, placeOf(id)), placeOf(id));
