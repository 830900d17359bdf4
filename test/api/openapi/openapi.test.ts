import { expect, it } from "vitest";
import { sharedApi, startApi } from "../../support/api.ts";

const api = sharedApi();

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly parameters?: readonly {
    readonly in: string;
    readonly name: string;
    readonly schema: object;
  }[];
  readonly requestBody?: unknown;
  readonly responses: Readonly<Record<string, unknown>>;
}
interface OpenApi {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
  readonly security: readonly unknown[];
}

it("describes every method and path once", async () => {
  await using api = await startApi();
  const { body } = await api.send<OpenApi>({ path: "/openapi.json" });
  const described = Object.entries(body.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const served = api.api.endpoints.flatMap(({ path, aliases = [], methods }) =>
    [path, ...aliases].flatMap((one) =>
      methods.map(
        (method) =>
          `${method} /api/2${one.replaceAll(/:(\w+)/g, (_, name) => `{${String(name)}}`)}`,
      ),
    ),
  );
  expect(described.sort()).toEqual(served.sort());
  const ids = Object.values(body.paths).flatMap((operations) =>
    Object.values(operations).map(({ operationId }) => operationId),
  );
  expect(new Set(ids).size).toBe(ids.length);
});

it("has the version, the security schemes, and every schema it refers to", async () => {
  const { status, body, text } = await api.send<OpenApi>({
    path: "/openapi.json",
    as: null,
  });
  expect([status, body.openapi]).toEqual([200, "3.1.0"]);
  expect(body.security).toEqual([{ bearer: [] }, { header: [] }, { query: [] }]);
  const referred = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => ref);
  const known = Object.keys(body.components.schemas).map((name) => `#/components/schemas/${name}`);
  expect(new Set(referred)).toEqual(new Set(known));
});

it("describes the parameters, body and errors of an operation", async () => {
  const { body } = await api.send<OpenApi>({ path: "/openapi.json" });
  const run = body.paths["/api/2/calls/{id}/run"]?.["post"];
  expect(run?.parameters?.map((one) => `${one.in} ${one.name}`)).toEqual([
    "query wait",
    "path id",
    "header Idempotency-Key",
  ]);
  expect(run?.requestBody).toBeDefined();
  expect(Object.keys(run?.responses ?? {})).toEqual([
    "200",
    "400",
    "401",
    "403",
    "404",
    "413",
    "415",
    "429",
    "500",
    "503",
  ]);
});

it("lists the values of a parameter that is true or false", async () => {
  const { body } = await api.send<OpenApi>({ path: "/openapi.json" });
  const rank = body.paths["/api/2/insights/rank/"]?.["get"];
  const schema = { enum: ["true", "t", "1", "false", "f", "0"] };
  expect(rank?.parameters?.map((one) => ({ name: one.name, schema: one.schema }))).toEqual([
    { name: "reverse", schema },
    { name: "inc_org", schema },
    { name: "weekly", schema },
  ]);
});

it("omits the key in the query when it is disabled", async () => {
  await using api = await startApi({ config: { tokenInQuery: false } });
  const { body } = await api.send<OpenApi>({ path: "/openapi.json" });
  expect(body.security).toEqual([{ bearer: [] }, { header: [] }]);
});

it("can be browsed without requests to other hosts", async () => {
  const page = await api.send({ path: "//docs", as: null });
  expect([page.status, page.headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
  expect(page.headers["content-security-policy"]).toContain("default-src 'self'");
  const assets = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) =>
    String(address),
  );
  expect(assets.filter((address) => /^(https?:)?\/\//.test(address))).toEqual([]);
  const script = await api.send({ path: "//docs/static/swagger-ui-bundle.js" });
  expect(script.status).toBe(200);
});

it.each([
  ["an unknown path", "unknown", {}, 404],
  ["an unknown file", "static/unknown.js", {}, 404],
  ["a range that a file does not have", "static/index.css", { range: "bytes=999999-" }, 416],
])("answers %s with the body of every other error", async (_what, path, headers, status) => {
  const answer = await api.send({ path: `//docs/${path}`, headers });
  expect(answer).toMatchObject({ status, body: { error_msg: expect.any(String), error: status } });
});
