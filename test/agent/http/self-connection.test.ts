import type { NetConnectOpts } from "node:net";
import { expect, it, vi } from "vitest";
import { freePort } from "../../support/free-port.ts";
import { call } from "../calling.ts";

// Forces what otherwise happens by chance, once in some ten thousand calls: the system picks the
// called port as the local one.
vi.mock("node:net", async (original) => {
  const net = await original<typeof import("node:net")>();
  return {
    ...net,
    connect: (options: NetConnectOpts & { port: number }) =>
      net.connect({ ...options, localPort: options.port }),
  };
});

it("a socket that TCP connects to itself counts as refused", async () => {
  const nobody = `127.0.0.1:${await freePort()}`;
  expect(await call(`http://${nobody}`)).toMatchObject({
    result: "CONNECTION_ERROR",
    message: `connect_refused: nothing listens on ${nobody}`,
    last: { requestSize: null, phases: { tcp: null } },
  });
});
