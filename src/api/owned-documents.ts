// Reads, writes and locks a resource's documents for a caller, with the side effects of changes. A
// document whose secrets cannot be decrypted is shown without them and marked; it cannot be
// changed.
import type { Static, TObject } from "typebox";
import { count } from "../model/count.ts";
import { AppError, invalid, notFound, unreadable } from "../model/errors.ts";
import { canRead, canWrite, ownedBy } from "../model/access.ts";
import type { Ownership, Principal } from "../model/access.ts";
import { toAnswer } from "../model/answer.ts";
import { formatInstant } from "../model/instant.ts";
import type { Resource } from "../model/resource.ts";
import type { NewDocument, StoredDocument } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import type { ApiRequest } from "./endpoint.ts";

/** A change in progress. */
export interface Change {
  /** The transaction. */
  readonly store: Store;
  readonly principal: Principal;
  readonly now: number;
}

/** A resource's work besides storing its document, in the same transaction. */
export interface DocumentHooks<D> {
  /**
   * Checks that need the store; resolves to the document to store. `before` is undefined on
   * creation.
   */
  readonly prepare?: (change: Change, document: D, before?: D) => Promise<D>;
  readonly written?: (change: Change, document: D, before?: D) => Promise<void>;
  readonly removed?: (change: Omit<Change, "now">, id: string) => Promise<void>;
  /** Whether a caller who may not read the document may still get and delete it. */
  readonly oversees?: (store: Store, caller: Principal, document?: D) => Promise<boolean>;
  /** The parts of each document that the reader may see. */
  readonly shown?: (
    store: Store,
    reader: Principal,
    found: readonly StoredDocument<D>[],
  ) => Promise<readonly unknown[]>;
}

export interface OwnedResource<S extends TObject> {
  readonly resource: Resource<S>;
  readonly hooks?: DocumentHooks<Static<S>>;
}

/** Resolves to the documents as answers show them to a reader who may get them. */
export async function shown<S extends TObject>(
  { resource, hooks }: OwnedResource<S>,
  store: Store,
  reader: Principal,
  found: readonly StoredDocument[],
): Promise<readonly unknown[]> {
  const documents = hooks?.shown
    ? await hooks.shown(store, reader, found as StoredDocument<Static<S>>[])
    : found.map(({ document }) => document);
  return found.map((stored, n) => toAnswer(resource.schema, reader, stored, documents[n]));
}

/** Resolves to the document as the answer shows it. */
export async function write<S extends TObject>(
  owned: OwnedResource<S>,
  verb: "insert" | "replace",
  change: Change,
  made: Static<S>,
  before?: StoredDocument<Static<S>>,
): Promise<unknown> {
  const { resource, hooks } = owned;
  const { store, principal } = change;
  const document = hooks?.prepare ? await hooks.prepare(change, made, before?.document) : made;
  const owner = before ?? ownedBy(principal);
  const row = toRow(resource, owner, document);
  await store.documents[verb](row);
  await hooks?.written?.(change, document, before?.document);
  return (await shown(owned, store, principal, [row]))[0];
}

const isOverseer = async <S extends TObject>(
  { hooks }: OwnedResource<S>,
  store: Store,
  caller: Principal,
  stored: StoredDocument | undefined,
): Promise<boolean> =>
  (await hooks?.oversees?.(store, caller, stored?.document as Static<S> | undefined)) ?? false;

/**
 * Resolves to the document for a caller who may read or oversees it; rejects with `not_found` for
 * any other. A missing document takes as many look-ups as one that the caller may not read.
 */
export async function visibleOrOverseen<S extends TObject>(
  owned: OwnedResource<S>,
  store: Store,
  caller: Principal,
  stored: StoredDocument | undefined,
): Promise<StoredDocument> {
  if (stored && canRead(caller, stored)) return stored;
  const isOverseen = await isOverseer(owned, store, caller, stored);
  if (stored && isOverseen) return stored;
  throw notFound(owned.resource.label);
}

/**
 * Locks the document for a change by its owner, or a deletion by its owner or an overseer. Rejects
 * for any other caller, and if `If-Match` does not match.
 */
export async function lock<S extends TObject>(
  owned: OwnedResource<S>,
  store: Store,
  verb: "change" | "delete",
  { principal, params, assertMatches }: ApiRequest<"/:id/">,
): Promise<StoredDocument<Static<S>>> {
  const { kind, label } = owned.resource;
  const stored = await store.documents.getForUpdate(kind, params.id);
  const found = await visibleOrOverseen(owned, store, principal, stored);
  const isAllowed =
    canWrite(principal, found) ||
    (verb === "delete" && (await isOverseer(owned, store, principal, found)));
  if (!isAllowed) throw new AppError("forbidden", `Only its owner may ${verb} this ${label}`);
  assertMatches((await shown(owned, store, principal, [found]))[0]);
  return found as StoredDocument<Static<S>>;
}

function toRow<S extends TObject>(
  resource: Resource<S>,
  { owner, owner_org }: Ownership,
  document: Static<S>,
): NewDocument {
  return {
    id: (document as { readonly id: string }).id,
    kind: resource.kind,
    owner,
    owner_org,
    document,
    filters: resource.filters(document),
    ...(resource.callIds && { callIds: resource.callIds(document) }),
    ...resource.sharing(document),
  };
}

interface Dated {
  readonly meta: { readonly last_update: string };
}

/**
 * Changes a document because another object changed or was deleted, regardless of its owner.
 * `before` must be locked. Stores nothing if `change` returns the document that it was given.
 */
export async function follow<S extends TObject>(
  store: Store,
  resource: Resource<S>,
  before: StoredDocument,
  change: (document: Static<S>) => Static<S>,
): Promise<void> {
  const document = change(before.document as Static<S>) as Static<S> & Dated;
  if (document === before.document) return;
  assertReadable(`one of the ${resource.label}s that would change with it`, before);
  const last_update = formatInstant(await store.now());
  await store.documents.replace(
    toRow(resource, before, { ...document, meta: { ...document.meta, last_update } }),
  );
}

const LABELS = { call: "API Call", token: "Token" } as const;

/**
 * Throws `invalid`, with their counts, while documents of these kinds that the caller owns refer to
 * the object. Documents of others never count: they could keep its owner from deleting it.
 */
export async function assertUnused(
  { store, principal }: Omit<Change, "now">,
  what: string,
  field: "auth_id" | "token_id",
  id: string,
  kinds: readonly (keyof typeof LABELS)[],
): Promise<void> {
  const uses: string[] = [];
  for (const kind of kinds) {
    const users = await store.documents.count(kind, { [field]: id }, principal);
    if (users > 0) uses.push(count(users, LABELS[kind]));
  }
  if (uses.length > 0) throw invalid(`This ${what} is used by ${uses.join(" and ")}`);
}

/** Rejects with the same `not_found` for a missing document and for one that is not readable. */
export async function visible<S extends TObject>(
  { documents }: Store,
  reader: Principal,
  { kind, label }: Pick<Resource<S>, "kind" | "label"> & { readonly schema?: S },
  id: string,
): Promise<StoredDocument<Static<S>>> {
  const stored = await documents.get(kind, id);
  if (!stored || !canRead(reader, stored)) throw notFound(label);
  return stored as StoredDocument<Static<S>>;
}

/** Call it before a change, which would overwrite unreadable secrets with null. */
export function assertReadable(what: string, { unreadable: cause }: StoredDocument): void {
  if (cause) throw unreadable(what, { cause });
}
