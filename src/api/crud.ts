// Create, read, update, delete and list of any owned resource: visibility, ownership, and one transaction a change.
import type { Static, TObject } from "typebox";
import { AppError, notFound } from "../model/errors.ts";
import { canRead, canWrite } from "../model/access.ts";
import type { Principal } from "../model/access.ts";
import type { FilterField, Resource } from "../model/resource.ts";
import { newId } from "../runtime/ids.ts";
import type { StoredDocument } from "../store/ports/document-store.ts";
import type { Store } from "../store/store.ts";
import type { ApiRequest, EndpointDeps } from "./endpoint.ts";
import { assertMatches } from "./entity-tag.ts";
import { listPage } from "./lists.ts";
import type { List } from "./lists.ts";
import type { LIST_PAGING } from "./parameters.ts";

/** A change under way. */
export interface Change {
  /** Of the transaction. */
  readonly store: Store;
  readonly principal: Principal;
  readonly now: number;
}

/** What a resource does beside storing its document, in the same transaction. `before` is undefined on creation. */
export interface CrudHooks<D> {
  /** Last checks, which need the store; returns the document to store. */
  readonly prepare?: (change: Change, document: D, before?: D) => Promise<D>;
  readonly written?: (change: Change, document: D, before?: D) => Promise<void>;
  readonly removed?: (store: Store, id: string) => Promise<void>;
}

type ObjectRequest = ApiRequest<"/:id/">;
type Filters = Partial<Record<FilterField, string>>;

export interface Crud<D> {
  create(request: ApiRequest): Promise<D>;
  get(request: ObjectRequest): Promise<D>;
  update(request: ObjectRequest): Promise<D>;
  remove(request: ObjectRequest): Promise<{ readonly status: "OK" }>;
  list(
    request: ApiRequest<string, typeof LIST_PAGING>,
    filters: Filters,
  ): Promise<List<D>>;
}

export function createCrud<S extends TObject>(
  { store, cursors }: EndpointDeps,
  resource: Resource<S>,
  hooks: CrudHooks<Static<S>> = {},
): Crud<Static<S>> {
  type Document = Static<S>;
  const { kind, label } = resource;

  const write = async (
    verb: "insert" | "replace",
    change: Change,
    made: Document,
    before?: StoredDocument<Document>,
  ): Promise<Document> => {
    const document = hooks.prepare
      ? await hooks.prepare(change, made, before?.document)
      : made;
    await change.store.documents[verb]({
      id: (document as Identified).id,
      kind,
      owner: before?.owner ?? change.principal.owner,
      owner_org: before ? before.owner_org : change.principal.org,
      document,
      filters: resource.filters(document),
      ...resource.sharing(document),
    });
    await hooks.written?.(change, document, before?.document);
    return document;
  };

  const lockOwn = async (
    within: Store,
    { principal, params, ifMatch }: ObjectRequest,
  ): Promise<StoredDocument<Document>> => {
    const stored = await within.documents.getForUpdate(kind, params.id);
    const found = visible(label, stored, principal);
    if (!canWrite(principal, found))
      throw new AppError(
        "forbidden",
        `Only its owner may change or delete this ${label}`,
      );
    assertMatches(ifMatch, found.document);
    return found as StoredDocument<Document>;
  };

  return {
    async create(request) {
      const { principal, body } = request;
      const now = await store.now();
      const { owner } = principal;
      const made = resource.create(body, { id: newId(now), owner, now });
      return request.change((within) =>
        write("insert", { store: within, principal, now }, made),
      );
    },

    async get({ principal, params }) {
      const stored = await store.documents.get(kind, params.id);
      return visible(label, stored, principal).document as Document;
    },

    update: (request) =>
      request.change(async (within) => {
        const before = await lockOwn(within, request);
        const now = await within.now();
        const made = resource.update(before.document, request.body, now);
        const { principal } = request;
        return write(
          "replace",
          { store: within, principal, now },
          made,
          before,
        );
      }),

    remove: (request) =>
      request.change(async (within) => {
        const { id } = await lockOwn(within, request);
        await hooks.removed?.(within, id);
        await within.documents.remove(kind, id);
        return { status: "OK" };
      }),

    async list(request, filters) {
      const { meta, results } = await listPage(cursors, request, (page) =>
        store.documents.list(kind, request.principal, filters, page),
      );
      return {
        meta,
        results: results.map(({ document }) => document as Document),
      };
    },
  };
}

/** Every resource's schema has an id. */
interface Identified {
  readonly id: string;
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
