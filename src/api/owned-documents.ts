// The documents of a resource: who may see and change them, and what goes along with a change.
import type { Static, TObject } from "typebox";
import { AppError, notFound } from "../model/errors.ts";
import { canRead, canWrite } from "../model/access.ts";
import type { Principal } from "../model/access.ts";
import { formatInstant } from "../model/instant.ts";
import type { Resource } from "../model/resource.ts";
import type { NewDocument, StoredDocument } from "../store/ports/document-store.ts";
import type { Store } from "../store/store.ts";
import type { ApiRequest } from "./http/endpoint.ts";
import { assertMatches } from "./http/entity-tag.ts";
import { assertReadable, marked } from "./unreadable.ts";

/** A change under way. */
export interface Change {
  /** Of the transaction. */
  readonly store: Store;
  readonly principal: Principal;
  readonly now: number;
}

/**
 * What a resource does beside storing its document, in the same transaction. `before` is undefined
 * on creation.
 */
export interface DocumentHooks<D> {
  /** Last checks, which need the store; returns the document to store. */
  readonly prepare?: (change: Change, document: D, before?: D) => Promise<D>;
  readonly written?: (change: Change, document: D, before?: D) => Promise<void>;
  readonly removed?: (store: Store, id: string) => Promise<void>;
  /** What of documents that may be read their reader is shown. */
  readonly shown?: (
    store: Store,
    reader: Principal,
    found: readonly StoredDocument<D>[],
  ) => Promise<readonly unknown[]>;
}

export interface OwnedDocuments<D> {
  /** What the reader is shown of documents that it may read. */
  shown(
    store: Store,
    reader: Principal,
    found: readonly StoredDocument[],
  ): Promise<readonly unknown[]>;
  /** Returns what its writer is shown of it. */
  write(
    verb: "insert" | "replace",
    change: Change,
    made: D,
    before?: StoredDocument<D>,
  ): Promise<unknown>;
  /** For a change by its owner; throws where the caller is not, or expects another version. */
  lock(store: Store, request: ApiRequest<"/:id/">): Promise<StoredDocument<D>>;
}

export function createOwnedDocuments<S extends TObject>(
  resource: Resource<S>,
  hooks: DocumentHooks<Static<S>>,
): OwnedDocuments<Static<S>> {
  type Document = Static<S>;
  const { kind, label } = resource;

  const shown = async (
    within: Store,
    reader: Principal,
    found: readonly StoredDocument[],
  ): Promise<readonly unknown[]> => {
    const documents = hooks.shown
      ? await hooks.shown(within, reader, found as StoredDocument<Document>[])
      : found.map(({ document }) => document);
    return found.map((stored, n) => marked(documents[n], stored));
  };

  const write = async (
    verb: "insert" | "replace",
    change: Change,
    made: Document,
    before?: StoredDocument<Document>,
  ): Promise<unknown> => {
    const { store: within, principal } = change;
    const document = hooks.prepare ? await hooks.prepare(change, made, before?.document) : made;
    const { owner, owner_org } = before ?? {
      owner: principal.owner,
      owner_org: principal.org,
    };
    const row = toRow(resource, { owner, owner_org }, document);
    await within.documents[verb](row);
    await hooks.written?.(change, document, before?.document);
    return (await shown(within, principal, [row]))[0];
  };

  const lock = async (
    within: Store,
    { principal, params, ifMatch }: ApiRequest<"/:id/">,
  ): Promise<StoredDocument<Document>> => {
    const stored = await within.documents.getForUpdate(kind, params.id);
    const found = visible(label, stored, principal);
    if (!canWrite(principal, found))
      throw new AppError("forbidden", `Only its owner may change or delete this ${label}`);
    assertMatches(ifMatch, (await shown(within, principal, [found]))[0]);
    return found as StoredDocument<Document>;
  };

  return { shown, write, lock };
}

/** Every resource's schema has an id. */
interface Identified {
  readonly id: string;
}

function toRow<S extends TObject>(
  resource: Resource<S>,
  owned: Pick<StoredDocument, "owner" | "owner_org">,
  document: Static<S>,
): NewDocument {
  return {
    id: (document as Identified).id,
    kind: resource.kind,
    owner: owned.owner,
    owner_org: owned.owner_org,
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
 * A change that another object's change or removal brings with it: whoever owns the document, and
 * unchecked. `before` was read for update.
 */
export async function follow<S extends TObject>(
  store: Store,
  resource: Resource<S>,
  before: StoredDocument,
  change: (document: Static<S>) => Static<S>,
): Promise<void> {
  assertReadable(`one of the ${resource.label}s that would change with it`, before);
  const document = change(before.document as Static<S>) as Static<S> & Dated;
  const last_update = formatInstant(await store.now());
  await store.documents.replace(
    toRow(resource, before, {
      ...document,
      meta: { ...document.meta, last_update },
    }),
  );
}

/** A document that may not be read is answered like one that does not exist. */
export function visible(
  label: string,
  stored: StoredDocument | undefined,
  principal: Principal,
): StoredDocument {
  if (!stored || !canRead(principal, stored)) throw notFound(label);
  return stored;
}
