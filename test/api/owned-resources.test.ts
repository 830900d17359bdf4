// The behaviour that all owned resources share.
import { describe, expect, it } from "vitest";
import { create, createAuthSetting, createCall, sharedApi } from "../support/api.ts";
import type { Created, TestApi } from "../support/api.ts";

const api = sharedApi();

type Body = Record<string, unknown>;

const RESOURCES: readonly [path: string, (api: TestApi) => Promise<Body>][] = [
  [
    "/calls/",
    async () => ({
      meta: { name: "n" },
      request: { method: "GET", url: "http://target.test/" },
    }),
  ],
  ["/workflows/", async () => ({ meta: { name: "n" } })],
  [
    "/deployments/",
    async (api) => ({
      deployment: {
        target_id: (await createCall(api)).id,
        location_id: "local",
        frequency: 5,
      },
    }),
  ],
  [
    "/auth/",
    async () => ({
      meta: { name: "n", domain: "target.test" },
      settings: { auth_type: "NONE" },
    }),
  ],
  [
    "/tokens/",
    async (api) => ({
      meta: { name: "n", auth_id: (await createAuthSetting(api)).id },
    }),
  ],
  ["/reports/", async () => ({ meta: { name: "n" }, groups: [{ name: "g" }] })],
];

/** Replaces its read-only fields with values of any type. */
function withOddReadOnly({ meta, ...rest }: Body): Body {
  const readOnly = { owner: 5, created: "long ago", last_update: null, domain: [], auth_type: {} };
  const odd = Object.entries(readOnly).filter(([name]) => Object.hasOwn(meta as object, name));
  return { ...rest, meta: { ...(meta as object), ...withoutWritable(rest, odd) } };
}

/** Keeps the domain of a setting, which its owner may write. */
const withoutWritable = (
  { settings }: Body,
  odd: readonly (readonly [name: string, value: unknown])[],
): object => Object.fromEntries(odd.filter(([name]) => !settings || name !== "domain"));

describe.each(RESOURCES)("an object of %s", (path, bodyFor) => {
  it.each(["POST", "PUT"] as const)("is created with %s", async (method) => {
    const body = await bodyFor(api);
    const { status } = await api.send({
      method,
      path: path.slice(0, -1),
      body,
    });
    expect(status).toBe(201);
  });

  it.each(["POST", "PUT"] as const)(
    "can be sent back with %s as it was read, with any read-only fields but no id",
    async (method) => {
      const { id, ...read } = await create(api, path, await bodyFor(api));
      const object = `${path}${id}/`;
      const saved = {
        ...read,
        meta: { ...(read["meta"] as object), last_update: expect.anything() },
      };
      for (const body of [read, read, withOddReadOnly(read)]) {
        const answer = await api.send<Created>({ method, path: object, body });
        expect([answer.status, answer.body]).toEqual([200, { id, ...saved }]);
      }
      const refused = await api.send({ method, path: object, body: { id, ...read } });
      expect([refused.status, refused.body]).toEqual([
        400,
        {
          error_msg: "Additional properties are not allowed ('id' was unexpected)",
          error: 400,
        },
      ]);
    },
  );

  it("can be copied from an answer, with any read-only fields", async () => {
    const { id, ...read } = await create(api, path, await bodyFor(api));
    const times = { created: expect.any(String), last_update: expect.any(String) };
    for (const body of [read, withOddReadOnly(read)]) {
      const { status, body: made } = await api.send<Created>({ method: "POST", path, body });
      expect([status, made]).toEqual([
        201,
        { ...read, id: expect.any(String), meta: { ...(read["meta"] as object), ...times } },
      ]);
      expect(made.id).not.toBe(id);
      expect(made["meta"]).not.toMatchObject({ created: "long ago" });
    }
  });
});
