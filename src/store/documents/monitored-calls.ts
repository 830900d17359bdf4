// Reads what the metrics of calls need from their definitions and deployments.
import { optsOutOfMetrics } from "../../model/behaviour.ts";
import type { Database } from "../database.ts";
import { isAmong, textAt } from "../database.ts";
import type { MonitoredCall } from "../records.ts";

export interface TargetFrequency {
  readonly target_id: string;
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
    /** Returns the frequency of each deployment of these calls and workflows. */
    async frequenciesOf(targetIds: readonly string[]): Promise<TargetFrequency[]> {
      const rows = await database.kysely
        .selectFrom("documents")
        .select("target_id")
        .select(textAt(database, "document", ["deployment", "location_id"]).as("location_id"))
        .select(textAt(database, "document", ["deployment", "frequency"]).as("frequency"))
        .where("kind", "=", "deployment")
        .where(isAmong(database, "target_id", targetIds))
        .execute();
      return rows.map(({ target_id, location_id, frequency }) => ({
        target_id: target_id ?? "",
        location_id: location_id ?? "",
        frequency: Number(frequency),
      }));
    },
  };
}
