// Reads what the metrics of calls need from their definitions and deployments.
import { optsOutOfMetrics } from "../../model/behaviour.ts";
import type { Database } from "../database.ts";
import { isAmong, textAt } from "../database.ts";
import type { MonitoredCall } from "../records.ts";

export interface CallFrequency {
  readonly call_id: string;
  readonly location_id: string;
  /** Minutes between runs. */
  readonly frequency: number;
}

export function createMonitoredCallStore(database: Database) {
  return {
    /** Returns the calls that exist. */
    async list(ids: readonly string[]): Promise<MonitoredCall[]> {
      const rows = await database.kysely
        .selectFrom("documents")
        .select(["id", textAt(database, "document", ["meta", "name"]).as("name")])
        .select(textAt(database, "document", ["meta", "tags"]).as("tags"))
        .where("kind", "=", "call")
        .where(isAmong(database, "id", ids))
        .execute();
      return rows.map(({ id, name, tags }) => {
        const isHidden = optsOutOfMetrics(JSON.parse(tags ?? "[]") as string[]);
        return { id, name: name ?? "", isHidden };
      });
    },
    /** Returns the frequency of each deployment of these calls and of the workflows with them. */
    async frequenciesOf(callIds: readonly string[]): Promise<CallFrequency[]> {
      const deployments = database.kysely
        .selectFrom("documents")
        .select(textAt(database, "document", ["deployment", "location_id"]).as("location_id"))
        .select(textAt(database, "document", ["deployment", "frequency"]).as("frequency"))
        .where("documents.kind", "=", "deployment");
      const ofCalls = deployments
        .select("target_id as call_id")
        .where(isAmong(database, "target_id", callIds));
      const ofWorkflows = deployments
        .innerJoin("document_calls", "document_calls.document_id", "documents.target_id")
        .select((eb) => eb.ref("call_id").$castTo<string | null>().as("call_id"))
        .where("document_calls.kind", "=", "workflow")
        .where(isAmong(database, "call_id", callIds));
      const rows = await ofCalls.unionAll(ofWorkflows).execute();
      return rows.map(({ call_id, location_id, frequency }) => ({
        call_id: call_id ?? "",
        location_id: location_id ?? "",
        frequency: Number(frequency),
      }));
    },
  };
}
