// Create, read, update, delete and list of any owned resource, one transaction a change.
import type { Static, TObject } from "typebox";
import type { Resource } from "../model/resource.ts";
import { newId } from "../runtime/ids.ts";
import type { Filters } from "../store/ports/document-store.ts";
import type { ApiRequest, EndpointDeps } from "./http/endpoint.ts";
import { listPage } from "./lists.ts";
import type { List } from "./lists.ts";
import { createOwnedDocuments, visible } from "./owned-documents.ts";
import type { DocumentHooks } from "./owned-documents.ts";
import type { LIST_PAGING } from "./http/parameters.ts";
import { assertReadable } from "./unreadable.ts";

type ObjectRequest = ApiRequest<"/:id/">;

export interface Crud {
  create(request: ApiRequest): Promise<unknown>;
  get(request: ObjectRequest): Promise<unknown>;
  update(request: ObjectRequest): Promise<unknown>;
  remove(request: ObjectRequest): Promise<{ readonly status: "OK" }>;
  list(request: ApiRequest<string, typeof LIST_PAGING>, filters: Filters): Promise<List<unknown>>;
}

export function createCrud<S extends TObject>(
  { store, cursors }: EndpointDeps,
  resource: Resource<S>,
  hooks: DocumentHooks<Static<S>> = {},
): Crud {
  const { kind, label } = resource;
  const owned = createOwnedDocuments(resource, hooks);

  return {
    async create(request) {
      const { principal, body } = request;
      const now = await store.now();
      const { owner } = principal;
      const made = resource.create(body, { id: newId(now), owner, now });
      return request.change((within) =>
        owned.write("insert", { store: within, principal, now }, made),
      );
    },

    async get({ principal, params }) {
      const stored = await store.documents.get(kind, params.id);
      const found = visible(label, stored, principal);
      return (await owned.shown(store, principal, [found]))[0];
    },

    update: (request) =>
      request.change(async (within) => {
        const before = await owned.lock(within, request);
        assertReadable(`this ${label}`, before);
        const now = await within.now();
        const made = resource.update(before.document, request.body, now);
        const { principal } = request;
        return owned.write("replace", { store: within, principal, now }, made, before);
      }),

    remove: (request) =>
      request.change(async (within) => {
        const { id } = await owned.lock(within, request);
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
        results: await owned.shown(store, request.principal, results),
      };
    },
  };
}
