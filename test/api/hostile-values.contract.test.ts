// Sends odd values in paths and queries, such as NUL, which PostgreSQL rejects.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { makeObjects } from "../support/owned-objects.ts";
import type { Objects } from "../support/owned-objects.ts";
import { storeKinds } from "../support/stores.ts";

describe.each(storeKinds)("every endpoint on %s", (storeKind) => {
  let api: TestApi;
  let objects: Objects;
  beforeAll(async () => {
    api = await startApi({ storeKind });
    objects = await makeObjects(api, api.ann, "not shared");
  });
  afterAll(() => api[Symbol.asyncDispose]());

  /** Each is sent as a parameter in every path and query. */
  it.each<[string, string]>([
    ["NUL", "%00"],
    ["NUL among letters", "a%00b"],
    ["a lone surrogate", "%ED%A0%BD"],
    ["no UTF-8", "%ff"],
    ["no escape", "%"],
    ["a long one", "x".repeat(1024)],
    ["one too long", "x".repeat(10_000)],
    ["quotes", "'%22--;"],
    ["__proto__", "__proto__"],
    ["a number beyond all", "1e400"],
    ["a line break", "a%0d%0ab"],
  ])("does not fail on %s", async (_what, value) => {
    // A stream has no end.
    const ending = api.api.endpoints.filter(({ lasting }) => !lasting);
    for (const { path, methods, query = {} } of ending)
      for (const method of methods) {
        const body = method === "POST" || method === "PUT" ? { body: "{}" } : {};
        const paths = [
          path.replaceAll(/:\w+/g, value),
          ...Object.keys(query).map((name) => `${path.replaceAll(/:\w+/g, "x")}?${name}=${value}`),
        ];
        for (const one of paths) {
          const answer = await api.send({ method, path: one, ...body });
          const at = `${method} ${one}: ${answer.status} ${answer.text}`;
          expect(answer.status, at).toBeLessThan(500);
          if (answer.status >= 400)
            expect(answer.body, at).toEqual({
              error_msg: expect.any(String),
              error: answer.status,
            });
        }
      }
  });

  // A cursor is read before the store is asked.
  it.runIf(storeKind === "sqlite")("answers 400 to a cursor of a million characters", async () => {
    for (const { path, query = {} } of api.api.endpoints) {
      if (!("cursor" in query)) continue;
      const place = path
        .replaceAll(":id", objects.call)
        .replace(`/workflows/${objects.call}`, `/workflows/${objects.workflow}`)
        .replace(`/reports/${objects.call}`, `/reports/${objects.report}`)
        .replaceAll(/:\w+/g, "x");
      const { status, body } = await api.send({
        path: `${place}?cursor=${"A".repeat(1_000_000)}`,
      });
      expect([status, body["error_msg"]], place).toEqual([
        400,
        expect.stringMatching(
          /^cursor: 'A{20,100}\.\.\. is not a cursor of this list with these filters and this order$/,
        ),
      ]);
    }
  });
});
