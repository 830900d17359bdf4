// The audit trail of changes that are made on this machine, without the API.
import type { Actor } from "../model/access.ts";
import type { AuditEntry } from "../model/audit.ts";
import type { Store } from "../store/store.ts";

/** The actor in the audit trail. */
export type LocalActor = "command line" | "first start" | "demo";

/** For no owner unless it names one. */
export type LocalChange = Pick<AuditEntry, "action" | "kind" | "object_id"> & Partial<Actor>;

/** Adds an audit entry for a change on this machine. */
export async function auditLocally(
  store: Store,
  actor: LocalActor,
  change: LocalChange,
): Promise<void> {
  const nobody = { owner: null, org: null, address: null };
  await store.audit.record({ time: await store.now(), actor, ...nobody, ...change, fields: [] });
}
