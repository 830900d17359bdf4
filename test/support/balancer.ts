// A TCP balancer: each connection goes to the next server, or to the one after it if that is gone.
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { track } from "./no-leftovers.ts";

export interface Balancer extends AsyncDisposable {
  readonly url: string;
  /** Connections that each server took, in the order of the servers. */
  readonly taken: readonly number[];
}

/** Balances over servers on 127.0.0.1. */
export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  const taken = ports.map(() => 0);
  const clients = new Set<Socket>();
  let turn = 0;
  const serve = (client: Socket, left = ports.length): void => {
    const at = turn++ % ports.length;
    const upstream = connect(ports[at] as number, "127.0.0.1");
    const retry = (): unknown => (left > 1 ? serve(client, left - 1) : client.destroy());
    upstream.once("error", retry);
    upstream.once("connect", () => {
      upstream.off("error", retry).on("error", () => client.destroy());
      taken[at] = (taken[at] ?? 0) + 1;
      client.pipe(upstream).pipe(client);
    });
  };
  const server = createServer((client) => {
    clients.add(client);
    client.on("error", () => undefined).on("close", () => clients.delete(client));
    serve(client);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const untrack = track(`balancer on port ${port}`);
  return {
    url: `http://127.0.0.1:${port}`,
    taken,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      for (const client of clients) client.destroy();
      await closed;
      untrack();
    },
  };
}
