// Everything that a resource's schema allows is stored and returned unchanged; anything it forbids
// changes nothing.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TSchema } from "typebox";
import { authSettingResource } from "../../src/model/auth-setting.ts";
import { callResource } from "../../src/model/call.ts";
import { hostOf } from "../../src/model/url.ts";
import { deploymentResource } from "../../src/model/deployment.ts";
import { reportResource } from "../../src/model/report.ts";
import { tokenResource } from "../../src/model/token.ts";
import { createValidator } from "../../src/model/validate.ts";
import { workflowResource } from "../../src/model/workflow.ts";
import { createAuthSetting, createCall, startApi } from "../support/api.ts";
import type { Created, List, TestApi } from "../support/api.ts";
import { anyObject, bodiesOf, faultsIn } from "../support/bodies.ts";
import type { Known } from "../support/bodies.ts";
import { storeKinds } from "../support/stores.ts";

interface Subject {
  readonly path: string;
  readonly resource: { readonly createBody: TSchema; readonly schema: TSchema };
  /** Generators for values that must exist, and for values with rules beyond the schema. */
  readonly known: (api: TestApi) => Promise<Known>;
  /** By path, with `[]` for any item: the answered value, where it differs from the given one. */
  readonly shown?: Readonly<Record<string, (given: string) => unknown>>;
}

const url = fc.oneof(
  fc
    .webUrl({ withQueryParameters: true, withFragments: true })
    .filter((text) => hostOf(text) !== undefined),
  fc.constantFrom(
    "http://[::1]:8080/",
    "https://%%HOST%%/{{path}}?a=__NAME__",
    "https://bücher.example/ä?ö=%C3%BC",
  ),
);
/** Below `.example`, since a random name may itself be a public suffix. */
const domain = fc
  .domain()
  .map((name) => `${name}.example`)
  .filter((name) => name.length <= 253 && !/xn--/i.test(name));
const headerName = fc.constantFrom("Accept", "x-{{a b}}", "%%NAME%%", "!#$%&'*+-.^_`|~");
const headers = fc.array(
  fc.record(
    { key: headerName, value: fc.constantFrom("", "\t", "ü {{a}} %%B%% \u2028", "x".repeat(8192)) },
    { noNullPrototype: true },
  ),
  { maxLength: 5 },
);
const upperCase = (text: string): string => text.toUpperCase();
const inMicroseconds = (text: string): string => new Date(text).toISOString().replace("Z", "000Z");
const locations = fc.constantFrom("", "local", "far");
const locationId = (id: string): string => (id === "" ? "local" : id);

const SUBJECTS: readonly Subject[] = [
  {
    path: "/calls/",
    resource: callResource,
    async known(api) {
      const { id } = await createAuthSetting(api);
      return {
        "request.url": fc.oneof(url, fc.constantFrom("{{BASE}}/x", "%%S%%://bücher.example/")),
        "request.headers": headers,
        "request.auth_id": fc.constantFrom(null, id),
        "request.token_id": fc.constant(null),
      };
    },
    shown: { "request.method": upperCase },
  },
  {
    path: "/auth/",
    resource: authSettingResource,
    known: async () => ({
      "meta.domain": domain,
      "settings.access_token_url": fc.option(url.filter((text) => !text.includes("%%"))),
      "settings.header_name": fc.option(headerName),
      "settings.ssl_cert": fc.constantFrom(null, "", "-----BEGIN CERTIFICATE-----"),
    }),
    shown: { "meta.domain": (name) => name.toLowerCase() },
  },
  {
    path: "/tokens/",
    resource: tokenResource,
    async known(api) {
      const { id } = await createAuthSetting(api);
      const time = fc.date({
        min: new Date("1970-01-01"),
        max: new Date("2999-01-01"),
        noInvalidDate: true,
      });
      return {
        "meta.auth_id": fc.constant(id),
        api_response: anyObject,
        "token.headers": headers,
        "token.expire_time": fc.option(time.map((at) => at.toISOString())),
      };
    },
    shown: { "token.expire_time": inMicroseconds },
  },
  {
    path: "/workflows/",
    resource: workflowResource,
    async known(api) {
      const calls = [await createCall(api), await createCall(api)];
      return {
        "workflow.call_ids[]": fc.constantFrom(...calls.map(({ id }) => id)),
      };
    },
  },
  {
    path: "/deployments/",
    resource: deploymentResource,
    async known(api) {
      const { id } = await createCall(api);
      return {
        "deployment.target_id": fc.constant(id),
        "deployment.location_id": locations,
      };
    },
    shown: { "deployment.location_id": locationId },
  },
  {
    path: "/reports/",
    resource: reportResource,
    async known(api) {
      const { id } = await createCall(api);
      return {
        "groups[].rows[].call_id": fc.constant(id),
        "groups[].rows[].location_id": locations,
      };
    },
    shown: { "groups[].rows[].location_id": locationId },
  },
];

interface Node {
  readonly properties?: Readonly<Record<string, Node>>;
  readonly items?: Node;
  readonly readOnly?: boolean;
  readonly namedByUser?: boolean;
}

const MARKER: Node = { readOnly: true };

/** Whether answers leave the value out: it is read-only, or null where the schema takes no null. */
function isLeftOut(parent: Node, child: Node | undefined, value: unknown): boolean {
  if (child?.readOnly) return true;
  if (value !== null) return false;
  return child ? !createValidator(child as TSchema).accepts(null) : parent.namedByUser === true;
}

/** Returns the body that the answer must contain. */
function expected(node: Node, body: unknown, shown: Subject["shown"] = {}, path = ""): unknown {
  if (typeof body === "string") return shown[path]?.(body) ?? body;
  if (Array.isArray(body))
    return body.map((item) => expected(node.items ?? {}, item, shown, `${path}[]`));
  if (typeof body !== "object" || body === null) return body;
  return Object.fromEntries(
    Object.entries(body).flatMap(([name, value]) => {
      const child = path === "" && name === "unreadable" ? MARKER : node.properties?.[name];
      if (isLeftOut(node, child, value)) return [];
      return [[name, expected(child ?? {}, value, shown, path === "" ? name : `${path}.${name}`)]];
    }),
  );
}

const asSent = (body: unknown): unknown => JSON.parse(JSON.stringify(body));

describe.each(storeKinds)("on %s", (storeKind) => {
  it.each(SUBJECTS)(
    "$path stores and returns everything its schema allows",
    async ({ path, resource, known, shown }) => {
      await using api = await startApi({ storeKind });
      const bodies = bodiesOf(resource.createBody, await known(api)).map(asSent);
      await fc.assert(
        fc.asyncProperty(bodies, async (body) => {
          const made = await api.send<Created>({ method: "POST", path, body });
          expect(made.status, made.text).toBe(201);
          expect(made.body).toMatchObject(expected(resource.schema as Node, body, shown) as object);
          const own = `${path}${made.body.id}/`;
          const { text, headers } = await api.send({ path: own });
          expect([text, headers["etag"]]).toEqual([made.text, made.headers["etag"]]);
        }),
        { numRuns: 25 },
      );
    },
    60_000,
  );

  // The schema is checked before anything is stored: this does not depend on the store.
  it.runIf(storeKind === "sqlite").each(SUBJECTS)(
    "$path answers 400 to everything its schema forbids, and changes nothing",
    async ({ path, resource, known }) => {
      await using api = await startApi({ storeKind });
      const bodies = bodiesOf(resource.createBody, await known(api)).map(asSent);
      const made = await api.send<Created>({
        method: "POST",
        path,
        body: fc.sample(bodies, 1)[0],
      });
      const own = `${path}${made.body.id}/`;
      const stored = async (): Promise<readonly string[]> => [
        (await api.send({ path: own })).text,
        (await api.send<List>({ path })).text,
      ];
      const before = await stored();
      expect(made.status, made.text).toBe(201);
      await fc.assert(
        fc.asyncProperty(bodies, fc.nat(), async (body, n) => {
          const faults = faultsIn(resource.createBody, body);
          const fault = faults[n % faults.length];
          for (const [method, where] of [
            ["POST", path],
            ["PUT", own],
          ] as const) {
            const { status, body: answer } = await api.send({
              method,
              path: where,
              body: fault?.body,
            });
            expect([status, answer["error"]], fault?.what).toEqual([400, 400]);
          }
        }),
        { numRuns: 40 },
      );
      expect(await stored()).toEqual(before);
    },
    60_000,
  );
});
