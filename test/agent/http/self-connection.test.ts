import { syncBuiltinESMExports } from "node:module";
import net from "node:net";
import type { NetConnectOpts } from "node:net";
import { expect, it } from "vitest";
import { freePort } from "../../support/free-port.ts";
import { call } from "../calling.ts";

/**
 * Forces what otherwise happens by chance, once in some ten thousand calls: the system picks the
 * called port as the local one.
 */
function connectFromSamePort(): Disposable {
  const { connect } = net;
  const replace = (by: typeof connect): void => {
    net.connect = by;
    syncBuiltinESMExports();
  };
  replace(((options: NetConnectOpts & { port: number }) =>
    connect({ ...options, localPort: options.port })) as typeof connect);
  return { [Symbol.dispose]: () => replace(connect) };
}

it("a socket that TCP connects to itself counts as refused", async () => {
  const nobody = `127.0.0.1:${await freePort()}`;
  using _ = connectFromSamePort();
  expect(await call(`http://${nobody}`)).toMatchObject({
    result: "CONNECTION_ERROR",
    message: `connect_refused: nothing listens on ${nobody}`,
    last: { requestSize: null, phases: { tcp: null } },
  });
});
