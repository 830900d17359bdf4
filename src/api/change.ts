// A change that a request makes: one transaction, in which every change of a document leaves a row
// in the audit trail.
import type { Principal } from "../model/access.ts";
import type { AuditAction, AuditEntry } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import { once } from "./idempotency.ts";
import type { Repeatable } from "./idempotency.ts";

export interface Caller {
  readonly principal: Principal;
  /** Client address. */
  readonly address: string;
  readonly repeatable: Repeatable | undefined;
}

/** Adds an audit entry for a change of anything but a document. */
export type Audit = (
  action: AuditAction,
  kind: string,
  objectId: string,
  fields?: readonly string[],
) => Promise<void>;

/** `ApiRequest.change`, which documents it. */
export const carryOut = <T>(
  store: Store,
  { principal, address, repeatable }: Caller,
  work: (store: Store, audit: Audit) => Promise<T>,
): Promise<T> =>
  store.transaction(async (within) => {
    const time = await within.now();
    const { key_id, owner, org } = principal;
    const actor = { actor: key_id, owner, org, address, time };
    const change = () => work(auditedStore(within, actor), auditIn(within, actor));
    return repeatable ? once(within, repeatable, time, change) : change();
  });

/** Who acts, on whose behalf, from where and when. */
type Actor = Pick<AuditEntry, "actor" | "owner" | "org" | "address" | "time">;

const auditIn =
  (store: Store, actor: Actor): Audit =>
  (action, kind, object_id, fields = []) =>
    store.audit.record({ ...actor, action, kind, object_id, fields });

function auditedStore(store: Store, actor: Actor): Store {
  const audited: Pick<Store, "documents" | "transaction"> = {
    documents: auditedDocuments(store.documents, auditIn(store, actor)),
    transaction: (work) => store.transaction((inner) => work(auditedStore(inner, actor))),
  };
  // Inherits the other parts: a copy would make them all.
  return Object.setPrototypeOf(audited, store) as Store;
}

function auditedDocuments(documents: Store["documents"], audit: Audit): Store["documents"] {
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

/** Every update sets one of them. */
const ALWAYS_CHANGED = ["meta.last_update", "meta.updated"];

/**
 * The paths that differ, in alphabetical order, never their values. Objects are compared field by
 * field, arrays as a whole.
 */
export const changedPaths = (before: unknown, after: unknown): string[] =>
  differences(before, after, "")
    .filter((path) => !ALWAYS_CHANGED.includes(path))
    .toSorted();

function differences(before: unknown, after: unknown, path: string): string[] {
  if (!isObject(before) || !isObject(after))
    return JSON.stringify(before) === JSON.stringify(after) ? [] : [path];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) =>
    differences(
      Object.hasOwn(before, name) ? before[name] : undefined,
      Object.hasOwn(after, name) ? after[name] : undefined,
      path === "" ? name : `${path}.${name}`,
    ),
  );
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
