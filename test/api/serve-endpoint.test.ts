import { request } from "node:http";
import Fastify from "fastify";
import { expect, it } from "vitest";
import { createBudgets } from "../../src/api/budgets.ts";
import { defineEndpoint } from "../../src/api/endpoint.ts";
import { serveEndpoint } from "../../src/api/serve-endpoint.ts";
import { Type } from "../../src/model/type.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import { LIMITS } from "../support/api.ts";
import { createTestDatabase } from "../support/stores.ts";

const OWNER = {
  key_id: "k",
  owner: "ann",
  org: null,
  access_level: "OWNER",
} as const;

it("reports a disconnect before the handler looked", async () => {
  await using database = await createTestDatabase("sqlite");
  const store = await database.open(systemClock);
  const app = Fastify();
  await using _ = { [Symbol.asyncDispose]: () => app.close() };
  const arrived = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<boolean>();
  const endpoint = defineEndpoint({
    operationId: "wait",
    methods: ["GET"],
    path: "/wait/",
    tag: "waits",
    summary: "Wait",
    level: "VIEWER",
    answer: Type.Object({}),
    async handle(asked) {
      arrived.resolve();
      await left.promise;
      aborted.resolve(asked.ended().aborted);
      return {};
    },
  });
  app.addHook("onRequest", async (_request, reply) => {
    reply.raw.once("close", () => left.resolve());
  });
  serveEndpoint(app, endpoint, {
    store,
    budgets: createBudgets(LIMITS, systemClock),
    authenticate: async () => ({ principal: OWNER, session: undefined }),
    stopping: new AbortController().signal,
    log: createLogger("silent"),
    stalledAfterMs: 60_000,
  });
  const url = await app.listen({ host: "127.0.0.1", port: 0 });

  const sent = request(`${url}/api/2/wait/`)
    .on("error", () => undefined)
    .end();
  await arrived.promise;
  sent.destroy();
  expect(await aborted.promise).toBe(true);
});
