// A store of which every change of a document leaves a row in the audit trail.
import { changedPaths } from "../model/changes.ts";
import type { AuditAction, AuditEntry } from "../store/ports/audit-store.ts";
import type { DocumentStore } from "../store/ports/document-store.ts";
import type { Store } from "../store/store.ts";

/** Who acts, on whose behalf, from where and when. */
export type Actor = Pick<AuditEntry, "actor" | "owner" | "address" | "time">;

/** For what is changed beside documents. */
export type Audit = (
  action: AuditAction,
  kind: string,
  objectId: string,
  fields?: readonly string[],
) => Promise<void>;

export const createAudit =
  (store: Store, actor: Actor): Audit =>
  (action, kind, object_id, fields = []) =>
    store.audit.record({ ...actor, action, kind, object_id, fields });

/** `store` is of a transaction: its changes and their rows are one. */
export function auditedStore(store: Store, actor: Actor): Store {
  return {
    ...store,
    documents: auditedDocuments(store.documents, createAudit(store, actor)),
    transaction: (work) => store.transaction((inner) => work(auditedStore(inner, actor))),
  };
}

function auditedDocuments(documents: DocumentStore, audit: Audit): DocumentStore {
  const locked = new Map<string, unknown>();
  return {
    ...documents,
    async getForUpdate(kind, id) {
      const found = await documents.getForUpdate(kind, id);
      if (found) locked.set(`${kind}/${id}`, found.document);
      return found;
    },
    async insert(document) {
      const isNew = await documents.insert(document);
      if (isNew) await audit("create", document.kind, document.id);
      return isNew;
    },
    async replace(document) {
      const { kind, id } = document;
      const before = locked.get(`${kind}/${id}`) ?? (await documents.get(kind, id))?.document;
      await documents.replace(document);
      locked.set(`${kind}/${id}`, document.document);
      await audit("update", kind, id, changedPaths(before, document.document));
    },
    async remove(kind, id) {
      await documents.remove(kind, id);
      await audit("delete", kind, id);
    },
  };
}
