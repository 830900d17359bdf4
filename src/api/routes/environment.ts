// Environment variables: those of the caller's organization, which any member can set, or of an
// owner without one.
import { answerSchema, toAnswer } from "../../model/answer.ts";
import {
  VariableName,
  VariableSchema,
  VariableValue,
  WorkspaceName,
  workspaceKey,
  workspaceOf,
} from "../../model/environment.ts";
import type { Variable } from "../../model/environment.ts";
import { ownedBy, ownerOf } from "../../model/access.ts";
import type { Principal } from "../../model/access.ts";
import { invalid, notFound } from "../../model/errors.ts";
import { Ignored } from "../../model/fields.ts";
import { formatInstant } from "../../model/instant.ts";
import { Type } from "../../model/type.ts";
import { createValidator, summarizeFaults } from "../../model/validate.ts";
import { newId } from "../../runtime/ids.ts";
import type { NewDocument, StoredDocument } from "../../store/records.ts";
import type { Store } from "../../store/store.ts";
import type { Budgets } from "../budgets.ts";
import { StatusSchema } from "../crud.ts";
import { defineEndpoint, named } from "../endpoint.ts";
import type { ApiRequest, Endpoint, EndpointDeps, Reply } from "../endpoint.ts";
import { listOf, listPage, MAX_PAGE_BYTES } from "../http/paging.ts";
import type { Cursors, List } from "../http/paging.ts";
import { LIST_PAGING } from "../http/parameters.ts";
import { assertReadable } from "../owned-documents.ts";

const Body = Type.Object(
  {
    value: VariableValue,
    meta: Ignored,
    workspace_variable: Ignored,
    unreadable: Ignored,
  },
  { additionalProperties: false },
);
const bodyValidator = createValidator(Body);
const placeValidator = createValidator(
  Type.Object({ workspace: WorkspaceName, variable_name: VariableName }),
);

const path = "/environment/:workspace/:variable_name";
const schema = named("EnvironmentVariable", answerSchema(VariableSchema));
const WorkspaceSchema = named(
  "Workspace",
  Type.Object({
    workspace: WorkspaceName,
    variables: Type.Integer({
      minimum: 1,
      description: "how many variables it has",
      examples: [3],
    }),
  }),
);
const common = { tag: "Environment variables", path, answer: schema } as const;

type OfVariable = ApiRequest<typeof path>;

export const environmentEndpoints = ({ store, cursors, budgets }: EndpointDeps): Endpoint[] => [
  defineEndpoint({
    ...common,
    operationId: "listWorkspaces",
    methods: ["GET"],
    path: "/environment/",
    summary: "List the workspaces of your organization, or your own if you have none",
    level: "VIEWER",
    query: LIST_PAGING,
    answer: listOf(WorkspaceSchema),
    handle: (request) => listWorkspaces(store, cursors, request),
  }),
  defineEndpoint({
    ...common,
    operationId: "listEnvironment",
    methods: ["GET"],
    path: "/environment/:workspace",
    summary: "List the variables of a workspace",
    description:
      "Those of your organization, or your own if you have none. A workspace that does not exist is empty.",
    level: "VIEWER",
    query: LIST_PAGING,
    answer: listOf(schema),
    handle: (request) => listVariables(store, cursors, request),
  }),
  defineEndpoint({
    ...common,
    operationId: "getVariable",
    methods: ["GET"],
    summary: "Get a variable",
    missing: "Environment variable",
    level: "VIEWER",
    handle: async (request) => shown(request, await findVariable(store, request)),
  }),
  defineEndpoint({
    ...common,
    operationId: "setVariable",
    methods: ["POST", "PUT"],
    summary: "Set a variable; creates it and its workspace if they do not exist",
    description: "201 for a new variable, 200 for an existing one.",
    level: "EDITOR",
    body: Body,
    status: [200, 201],
    handle: (request) => setVariable(request, budgets),
  }),
  defineEndpoint({
    ...common,
    operationId: "deleteVariable",
    methods: ["DELETE"],
    summary: "Delete a variable",
    missing: "Environment variable",
    level: "EDITOR",
    answer: StatusSchema,
    handle: deleteVariable,
  }),
];

async function listWorkspaces(
  store: Store,
  cursors: Cursors,
  request: ApiRequest<"/", typeof LIST_PAGING>,
): Promise<List<unknown>> {
  const { meta, results } = await listPage(cursors, request, (page) =>
    store.documents.listWorkspaces(request.principal, page),
  );
  return {
    meta,
    results: results.map(({ key, variables }) => ({ workspace: workspaceOf(key), variables })),
  };
}

async function listVariables(
  store: Store,
  cursors: Cursors,
  request: ApiRequest<"/:workspace", typeof LIST_PAGING>,
): Promise<List<unknown>> {
  const { principal, params } = request;
  const filters = { workspace: workspaceKey(principal, params.workspace) };
  const { meta, results } = await listPage(
    cursors,
    request,
    (page) => store.documents.list("variable", principal, filters, page),
    (page) => store.documents.fitting("variable", principal, { ...page, filters }, MAX_PAGE_BYTES),
  );
  return { meta, results: results.map((found) => shown(request, found)) };
}

async function findVariable(store: Store, request: OfVariable): Promise<StoredDocument> {
  const found = await lookUp(store, request);
  if (!found) throw notFound("Environment variable");
  return found;
}

const shown = ({ principal }: Pick<ApiRequest, "principal">, found: StoredDocument): unknown =>
  toAnswer(VariableSchema, principal, found);

async function lookUp(
  store: Store,
  { principal, params }: OfVariable,
): Promise<StoredDocument | undefined> {
  const [found] = await store.documents.list(
    "variable",
    principal,
    {
      workspace: workspaceKey(principal, params.workspace),
      name: params.variable_name,
    },
    { after: "", limit: 1 },
  );
  return found;
}

const KIND = { kind: "variable", label: "Environment variable" } as const;

async function setVariable(request: OfVariable, budgets: Budgets): Promise<Reply> {
  const faults = [...placeValidator.faults(request.params), ...bodyValidator.faults(request.body)];
  if (faults.length > 0) throw invalid(summarizeFaults(faults));
  const { value } = bodyValidator.parse(request.body);
  return request.change(async (within): Promise<Reply> => {
    const now = await within.now();
    const made = newVariable(request, value, now);
    for (;;) {
      if (await within.documents.insert(toRow(request.principal, made))) {
        await budgets.checkCreated(within, request.principal, KIND);
        return { status: 201, answer: made };
      }
      const there = await lookUp(within, request);
      const found = there && (await within.documents.getForUpdate("variable", there.id));
      if (!found) continue; // deleted meanwhile
      assertReadable("this environment variable", found);
      const answer = changed(found.document as Variable, value, now);
      await within.documents.replace(toRow(request.principal, answer, found));
      const grown = { before: found.document, after: answer };
      await budgets.checkChanged(within, ownerOf(found), KIND, grown);
      return { status: 200, answer };
    }
  });
}

const deleteVariable = (request: OfVariable): Promise<unknown> =>
  request.change(async (within) => {
    const { id } = await findVariable(within, request);
    if (!(await within.documents.remove("variable", id))) throw notFound("Environment variable");
    return { status: "OK" };
  });

const newVariable = (
  { params: { workspace, variable_name } }: OfVariable,
  value: string,
  now: number,
): Variable => ({
  meta: {
    updated: formatInstant(now),
    created: formatInstant(now),
    workspace,
  },
  workspace_variable: { name: variable_name, value },
  id: newId(now),
});

const changed = (before: Variable, value: string, now: number): Variable => ({
  ...before,
  meta: { ...before.meta, updated: formatInstant(now) },
  workspace_variable: { ...before.workspace_variable, value },
});

function toRow(principal: Principal, document: Variable, before?: StoredDocument): NewDocument {
  const { owner, owner_org } = before ?? ownedBy(principal);
  return {
    id: document.id,
    kind: "variable",
    owner,
    owner_org,
    org: true,
    community: false,
    document,
    filters: {
      workspace: workspaceKey(principal, document.meta.workspace),
      name: document.workspace_variable.name,
    },
  };
}
