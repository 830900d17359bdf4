// Carries out a request's change in one transaction, in which every change of a document adds an
// entry to the audit trail.
import { isOwner } from "../model/access.ts";
import type { Actor, Ownership, Principal } from "../model/access.ts";
import type { AuditAction, AuditEntry } from "../model/audit.ts";
import { changedPaths } from "../model/changed-paths.ts";
import { RESOURCE_SCHEMAS } from "../model/resources.ts";
import type { Store } from "../store/store.ts";
import type { Budgets } from "./budgets.ts";
import { once } from "./idempotency.ts";
import type { Repeatable } from "./idempotency.ts";

export interface Caller {
  readonly principal: Principal;
  /** Client address. */
  readonly address: string;
  readonly repeatable: Repeatable | undefined;
}

/** Adds an audit entry for a change of anything except a document. `of` is the object's owner. */
export type Audit = (
  action: AuditAction,
  kind: string,
  objectId: string,
  fields?: readonly string[],
  of?: Ownership,
) => Promise<void>;

/** Implements `ApiRequest.change`; see there. */
export const carryOut = <T>(
  store: Store,
  budgets: Budgets,
  { principal, address, repeatable }: Caller,
  work: (store: Store, audit: Audit) => Promise<T>,
): Promise<T> =>
  store.transaction(async (within) => {
    const time = await within.now();
    const { key_id, owner, org } = principal;
    const author = { actor: key_id, owner, org, address, time };
    const change = () => work(auditedStore(within, author), auditIn(within, author));
    if (!repeatable) return change();
    const { answer, keptBytes } = await once(within, repeatable, time, change);
    if (keptBytes > 0) budgets.checkKept(principal, keptBytes);
    return answer;
  });

/** Who acts, on whose behalf, from where and when. */
type Author = Actor & Pick<AuditEntry, "actor" | "address" | "time">;

const auditIn =
  (store: Store, author: Author): Audit =>
  (action, kind, object_id, fields = [], of) =>
    store.audit.record({
      ...author,
      action,
      kind,
      object_id,
      fields,
      ...(of && !isOwner(author, of) && { object_owner: of.owner, object_org: of.owner_org }),
    });

/** Makes the store of a transaction audit its changes of documents. */
function auditedStore(store: Store, author: Author): Store {
  const { documents, transaction } = store;
  return Object.defineProperties(store, {
    documents: { value: auditedDocuments(documents, auditIn(store, author)) },
    transaction: {
      value: (work) => transaction((inner) => work(auditedStore(inner, author))),
    } satisfies { readonly value: Store["transaction"] },
  });
}

function auditedDocuments(documents: Store["documents"], audit: Audit): Store["documents"] {
  return {
    ...documents,
    async insert(document) {
      const isNew = await documents.insert(document);
      if (isNew) await audit("create", document.kind, document.id);
      return isNew;
    },
    async replace(document) {
      const { kind, id } = document;
      const before = await documents.get(kind, id);
      await documents.replace(document);
      const fields = changedPaths(RESOURCE_SCHEMAS[kind], before?.document, document.document);
      await audit("update", kind, id, fields, document);
    },
    async remove(kind, id) {
      const before = await documents.get(kind, id);
      const isRemoved = await documents.remove(kind, id);
      if (isRemoved) await audit("delete", kind, id, [], before);
      return isRemoved;
    },
  };
}
