// Stores who may see the reports of a call. Each report copies its call's sharing: the cost of a
// list's page does not grow with the number of reports.
import type { Call } from "../../model/call.ts";
import type { Database } from "../database.ts";
import { selectNumber } from "../names.ts";
import type { NewDocument } from "../records.ts";

/** The sharing, as columns of a report. */
interface Sharing {
  readonly shared_org: number;
  readonly shared_community: number;
}

/**
 * Returns undefined if the call has been deleted. In a transaction, locks the call against changes
 * and deletion until the end.
 */
export async function sharingOf(
  { kysely, rowLocks }: Database,
  callId: string,
): Promise<Sharing | undefined> {
  const call = await kysely
    .selectFrom("documents")
    .select(["shared_org", "document"])
    .where("kind", "=", "call")
    .where("id", "=", callId)
    .$if(rowLocks, (rows) => rows.forShare())
    .executeTakeFirst();
  return call && columnsOf(call.shared_org, JSON.parse(call.document) as Call);
}

/** Copies the call's sharing to its reports, in the transaction that changes the call. */
export async function shareInsights(database: Database, { id, org, document }: NewDocument) {
  const sharing = columnsOf(Number(org), document as Call);
  await database.kysely
    .updateTable("insights")
    .set(sharing)
    .where("call", "=", selectNumber(database, id))
    .where((eb) =>
      eb.or([
        eb("shared_org", "<>", sharing.shared_org),
        eb("shared_community", "<>", sharing.shared_community),
      ]),
    )
    .execute();
}

/** Call it in the transaction that deletes the call. */
export async function removeInsights(database: Database, callId: string): Promise<void> {
  const reports = database.kysely.deleteFrom("insights");
  await reports.where("call", "=", selectNumber(database, callId)).execute();
}

const columnsOf = (shared_org: number, { access }: Call): Sharing => ({
  shared_org,
  shared_community: Number(access.stats),
});
