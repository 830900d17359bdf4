// The OpenAPI document as tools read it: a linter, a type generator, and programs written against
// the generated types.
import { gunzipSync } from "node:zlib";
import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import openapiTypescript from "openapi-typescript";
import type { OpenAPI3 } from "openapi-typescript";
import { expect, it, onTestFinished, vi } from "vitest";
import { createCall, LIMITS, sharedApi, startApi } from "../../support/api.ts";
import type { Json } from "../../support/api.ts";
import { documentedHeaders, ownHeaders } from "../../support/answer-headers.ts";

const api = sharedApi();

const documentOf = async (): Promise<string> => (await api.send({ path: "/openapi.json" })).text;

it("is rendered once, however often it is requested", async () => {
  const [path, etag] = ["/openapi.json", (await api.send({ path: "/openapi.json" })).headers.etag];
  const rendering = vi.spyOn(JSON, "stringify");
  onTestFinished(() => rendering.mockRestore());
  for (const asked of [path, "/openapi.json?debug=1", "//docs/json"])
    expect((await api.send({ path: asked, as: null })).status).toBe(200);
  const rendered = rendering.mock.calls.filter(
    ([value]) => typeof value === "object" && value !== null && "openapi" in value,
  );
  expect(rendered).toEqual([]);
  for (const method of ["GET", "HEAD"] as const) {
    const known = await api.send({ method, path, headers: { "if-none-match": String(etag) } });
    const { status, text, headers } = known;
    expect([status, text, headers["content-length"]]).toEqual([304, "", undefined]);
  }
});

it("is compressed for clients that accept it", async () => {
  const url = "/api/2/openapi.json";
  const answer = await api.api.app.inject({ url, headers: { "accept-encoding": "br, gzip" } });
  expect(answer.headers).toMatchObject({ "content-encoding": "gzip", vary: "accept-encoding" });
  expect(gunzipSync(answer.rawPayload).toString()).toBe(await documentOf());
});

it("is a valid OpenAPI 3.1 document with valid examples", { tags: ["slow"] }, async () => {
  const config = await createConfig({
    extends: ["recommended-strict"],
    rules: {
      // The paths of this interface are fixed; where two could match, the literal one does.
      "no-ambiguous-paths": "off",
      "no-path-trailing-slash": "off",
      "no-invalid-media-type-examples": "error",
      "no-invalid-parameter-examples": "error",
      "no-invalid-schema-examples": "error",
      "operation-operationId-unique": "error",
      "no-unresolved-refs": "error",
      "no-undefined-server-variable": "error",
    },
  });
  const problems = await lintFromString({ source: withoutVariants(await documentOf()), config });
  expect(
    problems.map(
      ({ ruleId, message, location }) => `${ruleId}: ${message} at ${location[0]?.pointer ?? "?"}`,
    ),
  ).toEqual([]);
});

/** Drops other methods and paths of an operation, which have the same schemas and examples. */
function withoutVariants(source: string): string {
  const document = JSON.parse(source) as { paths: Paths };
  const operations = Object.entries(document.paths).map(([path, methods]) => [
    path,
    Object.fromEntries(
      Object.entries(methods).filter(([, { operationId }]) => !isVariant(operationId)),
    ),
  ]);
  return JSON.stringify({ ...document, paths: Object.fromEntries(operations) });
}

const isVariant = (operationId: string): boolean => /By(?:[A-Z]{3,}|Alias)$/.test(operationId);

interface Media {
  readonly schema?: Json;
  readonly example?: Json;
}
interface Operation {
  readonly operationId: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly example?: unknown;
  }[];
  readonly requestBody?: {
    readonly required?: boolean;
    readonly content: Readonly<Record<string, Media>>;
  };
  readonly responses: Readonly<
    Record<
      string,
      {
        readonly content?: Readonly<Record<string, Media>>;
        readonly headers?: object;
      }
    >
  >;
}
type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>;

async function operationsOf(): Promise<
  (Operation & { readonly path: string; readonly method: string })[]
> {
  const { paths } = JSON.parse(await documentOf()) as { paths: Paths };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      path,
      method,
    })),
  );
}

it("has an example for every parameter, body, answer and error", async () => {
  const bare = (await operationsOf()).flatMap((operation) => {
    const { operationId, parameters = [], requestBody, responses } = operation;
    const contents = Object.entries(responses)
      .map(([status, { content }]) => [status, content] as const)
      .concat(requestBody ? [["body", requestBody.content]] : []);
    return [
      ...parameters
        .filter(({ example }) => example === undefined)
        .map(({ name }) => `${operationId}: ${name}`),
      ...contents
        .filter(([, content]) => !Object.values(content ?? {}).every(({ example }) => example))
        .map(([what]) => `${operationId}: ${what}`),
    ];
  });
  expect(bare).toEqual([]);
});

it("has no example with the placeholder of the sampler", async () => {
  const placeholders = (await operationsOf()).flatMap(({ operationId, requestBody, responses }) =>
    [requestBody, ...Object.values(responses)]
      .flatMap((part) => Object.values(part?.content ?? {}))
      .filter(({ example }) => JSON.stringify(example).includes('"string"'))
      .map(() => operationId),
  );
  expect(placeholders).toEqual([]);
});

it("has a name for the schema of every answer, for generated clients to use", async () => {
  const unnamed = (await operationsOf()).flatMap(({ operationId, responses }) =>
    ["200", "201"]
      .map((status) => responses[status]?.content?.["application/json"]?.schema)
      .filter((schema) => schema && !("$ref" in schema || "anyOf" in schema))
      .map(() => operationId),
  );
  expect(unnamed).toEqual([]);
});

interface Page {
  readonly more?: boolean;
  readonly next_cursor?: string;
}

it("uses last pages as examples of lists", async () => {
  const pages = (await operationsOf())
    .map(({ responses }) => responses["200"]?.content?.["application/json"]?.example)
    .map((example) => example?.["meta"] as Page | undefined)
    .filter((meta) => meta?.more !== undefined);
  expect(pages.length).toBeGreaterThan(10);
  for (const page of pages) expect(page).toMatchObject({ more: false, next_cursor: "" });
});

it("describes the headers of answers", async () => {
  const operations = await operationsOf();
  const get = operations.find(({ operationId }) => operationId === "getCall");
  const headersOf = (status: string): string[] =>
    Object.keys(get?.responses[status]?.headers ?? {});
  expect(["200", "304", "404", "429", "503"].map(headersOf)).toEqual([
    ["ETag", "Sonde-Role"],
    ["ETag", "Sonde-Role"],
    [],
    ["Retry-After"],
    ["Retry-After"],
  ]);
  const withOthers = operations.filter(({ responses }) =>
    JSON.stringify(responses["200"]?.headers ?? {}).includes("absent from an answer without an id"),
  );
  expect(withOthers.map(({ operationId }) => operationId).filter((id) => !isVariant(id))).toEqual([
    "getCall",
    "changeOrRunWorkflow",
  ]);
  for (const { operationId, responses } of operations)
    for (const status of ["429", "503"])
      expect([operationId, status, Object.keys(responses[status]?.headers ?? {})]).toEqual([
        operationId,
        status,
        ["Retry-After"],
      ]);
});

it("describes If-None-Match and 304, without a body, where a GET has an ETag", async () => {
  const operations = await operationsOf();
  const described = operations.map(({ operationId, method, parameters = [], responses }) => ({
    operationId,
    hasVersion: method === "get" && "ETag" in (responses["200"]?.headers ?? {}),
    isConditional: parameters.some(({ name }) => name === "If-None-Match"),
    status: responses["304"] && Object.keys(responses["304"]).toSorted(),
  }));
  expect(described.filter(({ hasVersion }) => hasVersion)).toHaveLength(6);
  for (const { operationId, hasVersion, isConditional, status } of described)
    expect([operationId, isConditional, status]).toEqual([
      operationId,
      hasVersion,
      hasVersion ? ["description", "headers"] : undefined,
    ]);
});

it.each([
  [401, "without a key"],
  [429, "beyond the limit of requests"],
])("names the headers that each operation answers %i with, %s", async (status) => {
  await using strict = await startApi({ config: { limits: { ...LIMITS, requestsPerMinute: 0 } } });
  for (const { operationId, path, method, responses } of await operationsOf()) {
    const answer = await strict.send({
      method: method.toUpperCase() as "GET",
      path: path.replace("/api/2", "").replaceAll(/\{\w+\}/g, "some_name"),
      as: status === 401 ? null : strict.ann,
    });
    expect([operationId, answer.status, ownHeaders(answer)]).toEqual([
      operationId,
      status,
      documentedHeaders(responses, status),
    ]);
  }
});

it("marks exactly the required bodies as required", async () => {
  const optional = (await operationsOf()).flatMap(({ operationId, requestBody }) =>
    requestBody && requestBody.required !== true ? [operationId] : [],
  );
  expect(optional.filter((id) => !isVariant(id)).sort()).toEqual([
    "changeOrRunWorkflow",
    "createApiKey",
    "runCall",
    "runWorkflow",
    "signIn",
    "updateCall",
    "updateDeployment",
    "updateReport",
    "updateToken",
    "updateWorkflow",
  ]);
});

it("has body examples that the service accepts, except for referenced objects", async () => {
  const created: string[] = [];
  for (const { path, method, requestBody, responses } of await operationsOf()) {
    const body = requestBody?.content["application/json"]?.example;
    if (method !== "post" || !body || !("201" in responses)) continue;
    const place = path.replace("/api/2", "").replaceAll(/\{\w+\}/g, "some_name");
    const { status, text } = await api.send({
      method: "POST",
      path: place,
      body,
    });
    if (status === 400) expect(text).toMatch(/ is not an? .+ you may /);
    else expect([status, text]).toEqual([201, expect.anything()]);
    created.push(place);
  }
  expect(created).toHaveLength(9);
});

it("omits server-set fields from setVariable's example body", async () => {
  const set = (await operationsOf()).find(({ operationId }) => operationId === "setVariable");
  const example = set?.requestBody?.content["application/json"]?.example;
  expect(Object.keys(example ?? {})).toEqual(["value"]);
});

it("fills in no default in bodies of change", async () => {
  const document = JSON.parse(await documentOf()) as { components: { schemas: Json } };
  const { schemas } = document.components;
  const bodies = (await operationsOf()).filter(({ operationId }) =>
    /^(update|change)/.test(operationId),
  );
  expect(bodies.length).toBeGreaterThan(6);
  const resolved = JSON.stringify(
    bodies.map(({ requestBody }) => [
      requestBody,
      ...[...JSON.stringify(requestBody).matchAll(/schemas\/(\w+)/g)].map(
        ([, name]) => schemas[String(name)],
      ),
    ]),
  );
  expect(resolved).toContain('"frequency"');
  expect(resolved).not.toContain('"default"');
});

it("declares every tag, describes every operation, and marks times", async () => {
  const document = JSON.parse(await documentOf()) as {
    tags: { name: string; description: string }[];
  };
  const declared = document.tags.map(({ name }) => name);
  const operations = await operationsOf();
  for (const { operationId, description, tags } of operations) {
    expect(declared, operationId).toContain(tags[0]);
    expect(description, operationId).toMatch(/^[A-Z\d`].*\.$/);
  }
  expect(new Set(operations.flatMap(({ tags }) => tags))).toEqual(new Set(declared));
  const times = [...JSON.stringify(document).matchAll(/\{[^{}]*"2026-10-01T[^{}]*\}/g)]
    .map(([schema]) => schema)
    .filter((schema) => schema.includes('"type":"string"'));
  expect(times.length).toBeGreaterThan(10);
  expect(times.filter((schema) => !schema.includes('"format":"date-time"'))).toEqual([]);
});

it("documents the statuses that are sent, 403 wherever a session may change something", async () => {
  const operations = await operationsOf();
  const statusesOf = (id: string): string[] =>
    Object.keys(operations.find(({ operationId }) => operationId === id)?.responses ?? {});
  const successes = ["signIn", "signOut", "setVariable"].map((id) =>
    statusesOf(id).filter((status) => status < "300"),
  );
  expect(successes).toEqual([["201"], ["200"], ["200", "201"]]);
  const unrefused = operations.filter(
    ({ method, responses }) => method !== "get" && !("403" in responses),
  );
  expect(unrefused.map(({ operationId }) => operationId)).toEqual(["signIn"]);
  const as = await api.caller("ann", null, "VIEWER");
  const signedIn = await api.send({ method: "POST", path: "/session/", as, body: {} });
  const foreign = {
    cookie: String(signedIn.headers["set-cookie"]),
    origin: "https://other.example",
  };
  const signOut = { method: "DELETE", path: "/session/", as: null, headers: foreign } as const;
  const { responses } = operations.find(({ operationId }) => operationId === "signOut") ?? {};
  expect((await api.send(signOut)).body).toEqual(
    responses?.["403"]?.content?.["application/json"]?.example,
  );
});

it("says who may get an object, and which of its fields", async () => {
  const operations = await operationsOf();
  const textOf = (id: string) =>
    operations.find(({ operationId }) => operationId === id)?.description;
  expect(["getCall", "getToken", "getDeployment"].map(textOf)).toEqual([
    "For its owner, and for those it is shared with. Any active key will do.",
    "For its owner only. Any active key will do.",
    "For its owner, and for the owner of the API Call or Workflow that it runs. Any active key will do.",
  ]);
  const { components } = JSON.parse(await documentOf()) as { components: { schemas: Json } };
  const { keys, settings } = (components.schemas["AuthSetting"] as { properties: Json }).properties;
  expect([keys, (settings as { properties: Json }).properties["ssl_key"]]).toMatchObject([
    {
      description:
        "null for all but the owner, unless access.keys or access.org_keys shares them; null for a key of level VIEWER",
    },
    { description: "PEM; null for all but the owner; null for a key of level VIEWER" },
  ]);
});

it("says of a list by an id, and of no other, when it is empty", async () => {
  const described = (await operationsOf()).filter(({ description }) =>
    description.includes("A filter by an id"),
  );
  expect(described.map(({ path }) => path)).toEqual([
    "/api/2/calls/auth/{auth_id}/",
    "/api/2/workflows/call/{call_id}/",
    "/api/2/deployments/call/{call_id}/",
    "/api/2/deployments/workflow/{workflow_id}/",
    "/api/2/tokens/auth/{auth_id}/",
  ]);
});

it("documents 404 exactly where it occurs, with its actual answer", async () => {
  const viewed = (await operationsOf()).filter(({ path }) => path.includes("{"));
  expect(viewed.length).toBeGreaterThan(30);
  for (const { operationId, path, method, requestBody, responses } of viewed) {
    const body = requestBody?.content["application/json"]?.example;
    const answer = await api.send({
      method: method.toUpperCase() as "GET",
      path: path.replace("/api/2", "").replaceAll(/\{\w+\}/g, operationId),
      ...(body && { body }),
    });
    const example = responses["404"]?.content?.["application/json"]?.example;
    expect([operationId, answer.status === 404], answer.text).toEqual([
      operationId,
      example !== undefined,
    ]);
    // An unknown result is reported before its missing content.
    if (example && operationId !== "getResultContent") expect(answer.body).toEqual(example);
  }
});

it("has the service's own words in the examples of errors", async () => {
  const operations = await operationsOf();
  const create = operations.find(({ operationId }) => operationId === "createCall");
  const update = operations.find(({ operationId }) => operationId === "updateCall");
  const list = operations.find(({ operationId }) => operationId === "listCalls");
  const exampleOf = (operation: Operation | undefined, status: number) =>
    operation?.responses[status]?.content?.["application/json"]?.example;
  const { id } = await createCall(api);
  const path = "/calls/";
  const viewer = await api.caller("ann", null, "VIEWER");
  const post = { method: "POST", path } as const;
  const change = { method: "PUT", path: `/calls/${id}/`, body: {} } as const;
  for (const [operation, sent] of [
    [create, { ...post, body: {} }],
    [create, { ...post, as: null }],
    [create, { ...post, as: viewer }],
    [create, { ...post, body: "x", headers: { "content-type": "text/plain" } }],
    [update, { ...change, headers: { "if-match": '"other"' } }],
    [list, { path: `${path}?limit=0` }],
  ] as const) {
    const answer = await api.send(sent);
    expect(answer.body).toEqual(exampleOf(operation, answer.status));
  }
});

const PROGRAM = `
import type { components, operations, paths } from "./api.ts";

type Call = components["schemas"]["Call"];
type NewCall = operations["createCall"]["requestBody"]["content"]["application/json"];
type Stat = NonNullable<components["schemas"]["PeriodStat"]["stat"]>;

export const body: NewCall = {
  meta: { name: "a call" },
  request: { method: "GET", url: "https://api.example.com/" },
};

export async function createCall(base: string, key: string): Promise<Call> {
  const path: keyof paths = "/api/2/calls/";
  const response = await fetch(base + path, {
    method: "POST",
    headers: { "x-api-key": key, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return (await response.json()) as Call;
}

export const describe = ({ meta, access, request }: Call): string =>
  [meta.name, meta.description?.trim() ?? "", access.org ? "org" : "", request.url].join(" ");

export const countOf = (stat: Stat): number => stat.count;
`;

const PROGRAMS: readonly (readonly [what: string, program: string, said: RegExp])[] = [
  ["fits", PROGRAM, /^$/],
  [
    "leaves out what is required",
    PROGRAM.replace('meta: { name: "a call" },', "meta: {},"),
    /^error TS2741: Property 'name' is missing/,
  ],
  [
    "requests a path that does not exist",
    PROGRAM.replace('"/api/2/calls/"', '"/api/3/calls/"'),
    /^error TS2820: Type '"\/api\/3\/calls\/"' is not assignable/,
  ],
  [
    "treats a nullable string as a string",
    PROGRAM.replace("?.trim()", ".trim()"),
    /^error TS18047: 'meta.description' is possibly 'null'/,
  ],
];

/** Returns what the type checker reports for each program: its one fault, or nothing. */
async function checkPrograms(): Promise<{ said: string[]; created: Created }> {
  const folder = mkdtempSync(join(tmpdir(), "sonde-client-"));
  try {
    const schema = JSON.parse(await documentOf()) as OpenAPI3;
    writeFileSync(join(folder, "api.ts"), await openapiTypescript(schema));
    for (const [n, [, program]] of PROGRAMS.entries())
      writeFileSync(join(folder, `program-${n}.ts`), program);
    writeFileSync(join(folder, "package.json"), '{"type":"module"}');
    symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
    const { stdout } = spawnSync(
      resolve("node_modules/.bin/tsc"),
      [
        ["--noEmit", "--strict", "--target", "es2024", "--module", "nodenext"],
        ["--allowImportingTsExtensions", "--types", "node"],
        PROGRAMS.map((_, n) => `program-${n}.ts`),
      ].flat(),
      { cwd: folder, encoding: "utf8" },
    );
    expect(stdout).not.toMatch(/^api\.ts/m);
    const said = PROGRAMS.map((_, n) =>
      [...stdout.matchAll(new RegExp(`^program-${n}\\.ts\\S* (.*)$`, "gm"))]
        .map(([, fault]) => fault)
        .join("\n"),
    );
    return { said, created: await runProgram(folder) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Created {
  readonly id: string;
  readonly described: string;
}

/** Returns what the first program creates on a running server. */
async function runProgram(folder: string): Promise<Created> {
  await api.api.start();
  const [base, key] = [JSON.stringify(api.api.address()), JSON.stringify(api.ann.key)];
  const code = `import { createCall, describe } from "./program-0.ts";
    const call = await createCall(${base}, ${key});
    console.log(JSON.stringify({ id: call.id, described: describe(call) }));`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--input-type=module", "--eval", code],
    { cwd: folder },
  );
  return JSON.parse(stdout) as Created;
}

it(
  "generates types that programs compile against, and run against a server",
  { tags: ["slow"] },
  async () => {
    const { said, created } = await checkPrograms();
    const { body } = await api.send({ path: `/calls/${created.id}/` });
    expect(body["meta"]).toMatchObject({ name: "a call" });
    expect(created.described).toBe("a call   https://api.example.com/");
    for (const [n, [what, , expected]] of PROGRAMS.entries())
      expect(said[n], what).toMatch(expected);
  },
);
