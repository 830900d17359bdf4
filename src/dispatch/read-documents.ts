// Reads the stored documents that ticks need.
import type { ResourceKind } from "../model/resource.ts";
import type { StoredDocument } from "../store/records.ts";
import type { Store } from "../store/store.ts";

/** By id. */
export type Documents = ReadonlyMap<string, StoredDocument>;

/** Those of the kind that are still stored; ids may be repeated. */
export async function readDocuments(
  { documents }: Store,
  kind: ResourceKind,
  ids: Iterable<string>,
): Promise<Documents> {
  const found = await documents.getMany(kind, [...new Set(ids)]);
  return new Map(found.map((stored) => [stored.id, stored]));
}
