// Maintains the number and size of each owner's objects in the transaction of each change: counting
// at each creation would read them all.
import { sql } from "kysely";
import type { Kysely } from "kysely";
import type { Actor, Ownership } from "../../model/access.ts";
import type { ResourceKind } from "../../model/resource.ts";
import type { Database } from "../database.ts";
import { isOf } from "../identity.ts";
import { prepared } from "../prepared.ts";
import type { Schema } from "../schema.ts";

export interface Usage {
  /** The number of objects of one kind. */
  readonly objects: number;
  /** The size of the owner's objects of all kinds, as they are stored. */
  readonly bytes: number;
}

export const createUsageStore = ({ kysely, rowLocks }: Database) => ({
  /** Until the transaction ends, others that lock the owner wait before they count. */
  async lock({ owner, org }: Actor): Promise<void> {
    if (rowLocks)
      await addOne(kysely, { owner, owner_org: keyOf(org), kind: "", bytes: 0, objects: 0 });
  },
  /** Within a transaction, includes its own changes, but not the uncommitted ones of others. */
  async of({ owner, org }: Actor, kind: ResourceKind): Promise<Usage> {
    const { rows } = await usageOf(kysely, { owner, owner_org: keyOf(org) });
    return {
      objects: rows.find((row) => row.kind === kind)?.objects ?? 0,
      bytes: rows.reduce((sum, { bytes }) => sum + bytes, 0),
    };
  },
  /** Unfinished manual runs of the owner, counted up to the limit. */
  async manualRuns(owner: Actor, limit: number): Promise<number> {
    const runs = kysely.selectFrom("pending_runs").select("result_id").limit(limit);
    const manual = runs.where("trigger", "=", "MANUAL").where(isOf(owner, "owner_org"));
    return (await manual.execute()).length;
  },
});

/** The key of the table cannot be null, and no organization has an empty name. */
const keyOf = (org: string | null): string => org ?? "";

const usageOf = prepared(["owner", "owner_org"], (kysely, { owner, owner_org }) =>
  kysely
    .selectFrom("owner_usage")
    .select(["kind", "objects", "bytes"])
    .where("owner", "=", owner)
    .where("owner_org", "=", owner_org),
);

interface Counted extends Ownership {
  readonly kind: string;
}

/** Other changes to the owner's objects of this kind wait until the transaction ends. */
export async function countInserted(
  kysely: Kysely<Schema>,
  { owner, owner_org, kind }: Counted,
  document: string,
): Promise<void> {
  const bytes = Buffer.byteLength(document);
  await addOne(kysely, { owner, owner_org: keyOf(owner_org), kind, bytes, objects: 1 });
}

const addOne = prepared(["owner", "owner_org", "kind", "objects", "bytes"], (kysely, row) =>
  kysely
    .insertInto("owner_usage")
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(["owner", "owner_org", "kind"]).doUpdateSet((eb) => ({
        objects: eb("owner_usage.objects", "+", eb.ref("excluded.objects")),
        bytes: eb("owner_usage.bytes", "+", eb.ref("excluded.bytes")),
      })),
    ),
);

/**
 * Call it before the document is replaced or removed; `document` is the new one, if there is one.
 * Locks the stored document, so that each removal or change of size is counted once.
 */
export async function countReplaced(
  { kysely, rowLocks }: Database,
  id: string,
  document?: string,
): Promise<void> {
  const stored = kysely
    .selectFrom("documents")
    .select(["owner", "owner_org", "kind"])
    .select(sql<number>`octet_length(document)`.as("bytes"))
    .where("id", "=", id);
  const before = await (rowLocks ? stored.forUpdate() : stored).executeTakeFirst();
  if (!before) return;
  const grown = (document === undefined ? 0 : Buffer.byteLength(document)) - before.bytes;
  await kysely
    .updateTable("owner_usage")
    .set((eb) => ({
      objects: eb("objects", "-", document === undefined ? 1 : 0),
      bytes: eb("bytes", "+", grown),
    }))
    .where("owner", "=", before.owner)
    .where("owner_org", "=", keyOf(before.owner_org))
    .where("kind", "=", before.kind)
    .execute();
}
