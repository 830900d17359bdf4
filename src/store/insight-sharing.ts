// Who may see the reports of a call. Each report repeats the sharing of its call, so that a page of
// a list costs the same however many reports there are.
import type { Call } from "../model/call.ts";
import type { Database } from "./database.ts";
import { numberOf } from "./names.ts";
import type { NewDocument } from "./records.ts";

/** As columns of the reports. */
interface Sharing {
  readonly shared_org: number;
  readonly shared_community: number;
}

/**
 * Undefined where the call has been deleted. Within a transaction: the call is neither changed nor
 * deleted before its end.
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

/** In the transaction that changes the call. */
export async function shareInsights(database: Database, { id, org, document }: NewDocument) {
  const sharing = columnsOf(Number(org), document as Call);
  await database.kysely
    .updateTable("insights")
    .set(sharing)
    .where("call", "=", numberOf(database, id))
    .where((eb) =>
      eb.or([
        eb("shared_org", "<>", sharing.shared_org),
        eb("shared_community", "<>", sharing.shared_community),
      ]),
    )
    .execute();
}

/** In the transaction that deletes the call. */
export async function removeInsights(database: Database, callId: string): Promise<void> {
  const reports = database.kysely.deleteFrom("insights");
  await reports.where("call", "=", numberOf(database, callId)).execute();
}

const columnsOf = (shared_org: number, { access }: Call): Sharing => ({
  shared_org,
  shared_community: Number(access.stats),
});
