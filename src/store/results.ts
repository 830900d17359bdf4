// Outcomes of runs, one row each.
import type { Result } from "../model/result.ts";
import type { Database } from "./database.ts";
import { recordMissedRuns, recordReports } from "./record.ts";
import type { ResultStore } from "./ports/result-store.ts";

export function createResultStore(database: Database): ResultStore {
  const documents = () =>
    database.kysely.selectFrom("results").select("document");
  return {
    record: (reports) => recordReports(database, reports),
    recordMissed: (runs) => recordMissedRuns(database, runs),
    async get(id) {
      const row = await documents().where("id", "=", id).executeTakeFirst();
      return row && (JSON.parse(row.document) as Result);
    },
    async listOfCall(callId, { after, limit }) {
      const rows = await documents()
        .where("call_id", "=", callId)
        .where("id", ">", after)
        .orderBy("id")
        .limit(limit)
        .execute();
      return rows.map(({ document }) => JSON.parse(document) as Result);
    },
  };
}
