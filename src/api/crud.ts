// The endpoints of every owned resource: create, update, delete, get and list.
import type { TObject, TSchema } from "typebox";
import { canRead, roleOf } from "../model/access.ts";
import type { Principal } from "../model/access.ts";
import { answerSchema } from "../model/answer.ts";
import type { ResourceKind } from "../model/resource.ts";
import { Type } from "../model/type.ts";
import { newId } from "../runtime/ids.ts";
import type { Filters } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import { defineEndpoint, named, withoutDefaults } from "./endpoint.ts";
import type { ApiRequest, Endpoint, EndpointDeps, PathParams } from "./endpoint.ts";
import { listOf, listPage, MAX_PAGE_BYTES } from "./http/paging.ts";
import type { List, ListRequest } from "./http/paging.ts";
import { LIST_PAGING } from "./http/parameters.ts";
import type { Parameters, Values } from "./http/parameters.ts";
import { assertReadable, lock, shown, visibleOrOverseen, write } from "./owned-documents.ts";
import type { OwnedResource } from "./owned-documents.ts";

export const StatusSchema = named("Status", Type.Object({ status: Type.Enum(["OK"]) }));

/** A resource as the API serves it. */
export interface Served<S extends TObject> extends OwnedResource<S> {
  readonly deps: EndpointDeps;
  /** Ends in a slash. */
  readonly path: string;
  /** Its plural in sentences, too: "API Calls". */
  readonly tag: string;
  /** Operation ids contain it: "Call". */
  readonly noun: string;
  /** For use in sentences: "an API Call". */
  readonly one: string;
  /** Who may get it, for the OpenAPI document; by default, also those it is shared with. */
  readonly readers?: string;
  /** What a deletion entails, for the OpenAPI document. */
  readonly deletion?: string;
}

const answerOf = <S extends TObject>({ resource, noun }: Served<S>): TSchema =>
  named(noun, answerSchema(resource.schema));

export const writeEndpoints = <S extends TObject>(
  served: Served<S>,
): [create: Endpoint, update: Endpoint, remove: Endpoint] => [
  createEndpoint(served),
  updateEndpoint(served),
  deleteEndpoint(served),
];

const createEndpoint = <S extends TObject>(served: Served<S>): Endpoint =>
  defineEndpoint({
    operationId: `create${served.noun}`,
    methods: ["POST", "PUT"],
    path: served.path,
    tag: served.tag,
    summary: `Create ${served.one}`,
    description:
      "Omitted properties get their defaults. An unknown property, `id` included, is an error; so is a reference to an object that does not exist or that you may not use.",
    level: "EDITOR",
    body: named(`New${served.noun}`, served.resource.createBody),
    status: 201,
    answer: answerOf(served),
    versioned: true,
    async handle({ principal, body, change }) {
      const now = await served.deps.store.now();
      const made = served.resource.create(body, { id: newId(now), owner: principal.owner, now });
      return change(async (store) => {
        const answer = await write(served, "insert", { store, principal, now }, made);
        await served.deps.budgets.checkCreated(store, principal, served.resource);
        return answer;
      });
    },
  });

const updateEndpoint = <S extends TObject>(served: Served<S>): Endpoint =>
  defineEndpoint({
    operationId: `update${served.noun}`,
    methods: ["PUT", "POST"],
    path: `${served.path as ""}:id/`,
    tag: served.tag,
    summary: `Change ${served.one}; properties left out of the body stay, arrays are replaced`,
    description:
      "For its owner only. Objects merge, `null` clears a nullable field, and fields that the service sets are ignored.",
    missing: served.resource.label,
    level: "EDITOR",
    body: named(`${served.noun}Change`, withoutDefaults(served.resource.updateBody)),
    answer: answerOf(served),
    versioned: true,
    conditional: true,
    handle: (request) =>
      request.change(async (store) => {
        const { principal, body } = request;
        const before = await lock(served, store, "change", request);
        assertReadable(`this ${served.resource.label}`, before);
        const now = await store.now();
        const made = served.resource.update(before.document, body, now);
        const answer = await write(served, "replace", { store, principal, now }, made, before);
        const grown = { before: before.document, after: made };
        await served.deps.budgets.checkChanged(store, principal, served.resource, grown);
        return answer;
      }),
  });

const deleteEndpoint = <S extends TObject>(served: Served<S>): Endpoint =>
  defineEndpoint({
    operationId: `delete${served.noun}`,
    methods: ["DELETE"],
    path: `${served.path as ""}:id/`,
    tag: served.tag,
    summary: `Delete ${served.one}`,
    description: served.deletion ?? "For its owner only.",
    missing: served.resource.label,
    level: "EDITOR",
    answer: StatusSchema,
    conditional: true,
    handle: (request) =>
      request.change(async (store) => {
        const { id } = await lock(served, store, "delete", request);
        const { principal } = request;
        await served.hooks?.removed?.({ store, principal }, id);
        await store.documents.remove(served.resource.kind, id);
        return { status: "OK" };
      }),
  });

const ROLE_HEADER = {
  "Sonde-Role": {
    description:
      "what you are to the object in the answer: its `owner`; a `member` of the organization that it is shared with, who may run and deploy a call or workflow; or a `reader`",
    example: "owner",
  },
};

export const getEndpoint = <S extends TObject>(served: Served<S>): Endpoint =>
  defineEndpoint({
    operationId: `get${served.noun}`,
    methods: ["GET"],
    path: `${served.path as ""}:id/`,
    tag: served.tag,
    summary: `Get ${served.one}`,
    description: served.readers ?? "For its owner, and for those it is shared with.",
    missing: served.resource.label,
    level: "VIEWER",
    status: [200],
    answer: answerOf(served),
    headers: ROLE_HEADER,
    versioned: true,
    async handle({ principal, params }) {
      const { store } = served.deps;
      const stored = await store.documents.get(served.resource.kind, params.id);
      const found = await visibleOrOverseen(served, store, principal, stored);
      const [answer] = await shown(served, store, principal, [found]);
      return { status: 200, answer, headers: { "sonde-role": roleOf(principal, found) } };
    },
  });

export const listEndpoint = <S extends TObject>(served: Served<S>): Endpoint =>
  filteredList(served, {
    operationId: `list${served.noun}s`,
    path: served.path,
    summary: `List the ${served.tag} that you may read`,
    filters: () => ({}),
  });

export interface FilteredList<Path extends string, P extends Parameters> {
  readonly operationId: string;
  readonly path: Path;
  readonly summary: string;
  /** In addition to those for paging. */
  readonly query?: P;
  readonly filters: (params: PathParams<Path>, query: Values<P>) => Filters;
  /** The object in the path, if there is one: the list is empty unless the reader may read it. */
  readonly of?: (params: PathParams<Path>) => { readonly kind: ResourceKind; readonly id: string };
  /** Whether the reader sees the documents of all owners; by default, those they may read. */
  readonly seesAll?: (reader: Principal, params: PathParams<Path>) => Promise<boolean>;
}

const BY_ID =
  "A filter by an id lists the objects that name it and that you may read; the id of an object that does not exist, or that you may not read, gives an empty list.";

/** A list filtered by parameters of its path and query. */
export const filteredList = <
  S extends TObject,
  const Path extends string,
  const P extends Parameters = Record<string, never>,
>(
  served: Served<S>,
  { filters, of, query, seesAll, ...list }: FilteredList<Path, P>,
): Endpoint =>
  defineEndpoint({
    ...list,
    description: of ? `In creation order. ${BY_ID}` : "In creation order.",
    methods: ["GET"],
    tag: served.tag,
    level: "VIEWER",
    query: { ...LIST_PAGING, ...query },
    answer: listOf(answerOf(served)),
    async handle(request) {
      const { principal, params } = request;
      if (of && !(await isReadable(served.deps.store, principal, of(params))))
        return listPage(served.deps.cursors, request, async () => []);
      const all = seesAll !== undefined && (await seesAll(principal, params));
      return readList(served, request, all, filters(params, request.query as Values<P>));
    },
  });

async function isReadable(
  { documents }: Store,
  reader: Principal,
  { kind, id }: { readonly kind: ResourceKind; readonly id: string },
): Promise<boolean> {
  const stored = await documents.get(kind, id);
  return stored !== undefined && canRead(reader, stored);
}

async function readList<S extends TObject>(
  served: Served<S>,
  request: Pick<ApiRequest, "principal"> & ListRequest,
  all: boolean,
  filters: Filters,
): Promise<List<unknown>> {
  const { store, cursors } = served.deps;
  const { principal } = request;
  const { kind } = served.resource;
  const { meta, results } = await listPage(
    cursors,
    request,
    (page) =>
      all
        ? store.documents.listKind(kind, page, filters)
        : store.documents.list(kind, principal, filters, page),
    (page) =>
      store.documents.fitting(kind, all ? null : principal, { ...page, filters }, MAX_PAGE_BYTES),
  );
  return { meta, results: await shown(served, store, principal, results) };
}
