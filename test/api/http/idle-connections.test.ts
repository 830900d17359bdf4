import { once } from "node:events";
import { connect } from "node:net";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import fastify from "fastify";
import { expect, it } from "vitest";
import { endIdle } from "../../../src/api/http/idle-connections.ts";

/** More than the buffers of two sockets hold. */
const LARGE = "x".repeat(12_000_000);

it("lets a slow caller read the whole answer to a request under way", async () => {
  const app = fastify();
  endIdle(app);
  const { promise: closing, resolve: answer } = Promise.withResolvers<void>();
  app.get("/", async () => {
    await closing;
    return LARGE;
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const begun = once(app.server, "request");
  const { port } = app.server.address() as AddressInfo;
  const caller = connect(port, "127.0.0.1", () =>
    caller.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n"),
  );
  await begun;
  const closed = app.close();
  await expect.poll(() => app.server.listening).toBe(false);
  answer();
  await once(caller, "readable");
  await delay(100); // longer than between two sweeps
  const [received] = await Promise.all([buffer(caller), closed]);
  expect(received.length).toBeGreaterThan(LARGE.length);
});
