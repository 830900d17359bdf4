// Outcomes of runs, one row each.
import type { Result, WorkflowResult } from "../model/result.ts";
import type { Database } from "./database.ts";
import { chunksOf } from "./database.ts";
import { recordMissedRuns, recordReports } from "./record.ts";
import { contentOf } from "./result-contents.ts";
import type { ResultStore, WorkflowResultStore } from "./ports/result-store.ts";

export function createResultStore(database: Database): ResultStore {
  const documents = () => database.kysely.selectFrom("results").select("document");
  return {
    record: (reports) => recordReports(database, reports),
    recordMissed: (runs) => recordMissedRuns(database, runs),
    async get(id) {
      const row = await documents().where("id", "=", id).executeTakeFirst();
      return row && (JSON.parse(row.document) as Result);
    },
    content: (id) => contentOf(database, id),
    async getMany(ids) {
      const found = new Map<string, Result>();
      for (const chunk of chunksOf(ids))
        for (const row of await documents().where("id", "in", chunk).execute()) {
          const result = JSON.parse(row.document) as Result;
          found.set(result.id, result);
        }
      return ids.flatMap((id) => found.get(id) ?? []);
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

export function createWorkflowResultStore({ kysely }: Database): WorkflowResultStore {
  const documents = () => kysely.selectFrom("workflow_results").select("document");
  const parsed = (row: { readonly document: string }): WorkflowResult =>
    JSON.parse(row.document) as WorkflowResult;
  return {
    async get(id) {
      const row = await documents().where("id", "=", id).executeTakeFirst();
      return row && parsed(row);
    },
    async listOfWorkflow(workflowId, { after, limit }) {
      const rows = await documents()
        .where("workflow_id", "=", workflowId)
        .where("id", ">", after)
        .orderBy("id")
        .limit(limit)
        .execute();
      return rows.map(parsed);
    },
    async latestOfDeployment(deploymentId) {
      const row = await documents()
        .where("deployment_id", "=", deploymentId)
        .where("result", "not in", ["MISSED", "UNABLE_TO_RUN"])
        .orderBy("id", "desc")
        .limit(1)
        .executeTakeFirst();
      return row && parsed(row);
    },
  };
}
