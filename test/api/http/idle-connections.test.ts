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

/** Requests a large answer, and reads only its beginning. */
async function startCall({ until }: { readonly until: Promise<unknown> }) {
  const app = fastify();
  endIdle(app);
  app.get("/", async () => {
    await until;
    return LARGE;
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const begun = once(app.server, "request");
  const { port } = app.server.address() as AddressInfo;
  const caller = connect(port, "127.0.0.1", () =>
    caller.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n"),
  );
  await begun;
  return { app, caller };
}

it.each(["before", "after"])(
  "lets a slow caller read an answer made %s the close",
  async (when) => {
    const { promise: until, resolve: answer } = Promise.withResolvers<void>();
    const { app, caller } = await startCall({ until });
    const arrived = once(caller, "readable");
    if (when === "before") {
      answer();
      await arrived;
    }
    const closed = app.close();
    await expect.poll(() => app.server.listening).toBe(false);
    answer();
    await arrived;
    await delay(100); // longer than between two sweeps
    const [received] = await Promise.all([buffer(caller), closed]);
    expect(received.length).toBeGreaterThan(LARGE.length);
  },
);

it("closes in spite of a caller that reads no more", { tags: ["slow"] }, async () => {
  const { app, caller } = await startCall({ until: Promise.resolve() });
  await once(caller, "readable");
  await app.close();
  caller.destroy();
});
