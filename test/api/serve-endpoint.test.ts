import { once } from "node:events";
import { request } from "node:http";
import Fastify from "fastify";
import { expect, it } from "vitest";
import { createBudgets } from "../../src/api/budgets.ts";
import { defineEndpoint } from "../../src/api/endpoint.ts";
import type { Endpoint } from "../../src/api/endpoint.ts";
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
  const arrived = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<boolean>();
  await using served = await serve({
    left: left.resolve,
    async handle(asked) {
      arrived.resolve();
      await left.promise;
      aborted.resolve(asked.ended().aborted);
      return {};
    },
  });
  const sent = request(served.url)
    .on("error", () => undefined)
    .end();
  await arrived.promise;
  sent.destroy();
  expect(await aborted.promise).toBe(true);
});

it("breaks off a long answer whose caller reads nothing", async () => {
  const left = Promise.withResolvers<void>();
  const text = "x".repeat(32 * 1024 * 1024); // more than the system's buffers hold
  await using served = await serve({ left: left.resolve, handle: async () => ({ text }) });
  const [response] = await once(request(served.url).end(), "response");
  const isBroken = expect(once(response, "end")).rejects.toThrow("aborted");
  await left.promise;
  response.resume();
  await isBroken;
});

interface Served {
  readonly handle: Endpoint["handle"];
  /** Called when an answer is sent or its caller has left. */
  readonly left: () => void;
}

async function serve({ handle, left }: Served) {
  const stack = new AsyncDisposableStack();
  const database = stack.use(await createTestDatabase("sqlite"));
  const store = await database.open(systemClock);
  const app = stack.adopt(Fastify(), (started) => started.close());
  const endpoint = defineEndpoint({
    operationId: "wait",
    methods: ["GET"],
    path: "/wait/",
    tag: "waits",
    summary: "Wait",
    level: "VIEWER",
    answer: Type.Object({}),
    handle,
  });
  app.addHook("onRequest", async (_request, reply) => {
    reply.raw.once("close", left);
  });
  serveEndpoint(app, endpoint, {
    store,
    budgets: createBudgets(LIMITS, systemClock),
    authenticate: async () => ({ principal: OWNER, session: undefined }),
    stopping: new AbortController().signal,
    log: createLogger("silent"),
    stalledAfterMs: 50,
  });
  const url = `${await app.listen({ host: "127.0.0.1", port: 0 })}/api/2/wait/`;
  return { url, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
