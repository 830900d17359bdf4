// Proxies to a TCP server over a line that a test can cut, delay or make lossy.
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { track } from "./no-leftovers.ts";

export interface LineQuality {
  /** Delay in one direction. */
  readonly delayMs: number;
  /** The share of segments, from 0 to 1, that must be sent again. */
  readonly loss: number;
  /** Returns a number from 0 to 1. */
  readonly random: () => number;
}

export interface TcpProxy extends AsyncDisposable {
  readonly port: number;
  /** Drops all packets: connections, new ones too, stay open and silent. */
  cut(): void;
  /** Delivers what was sent meanwhile, as TCP retransmits it. */
  heal(): void;
}

/** The time after which Linux retransmits a segment on a line as short as this. */
const RETRANSMISSION_MS = 200;

const PERFECT: LineQuality = { delayMs: 0, loss: 0, random: () => 1 };

/** Forwards connections to a port of 127.0.0.1. */
export async function startTcpProxy(target: number, quality = PERFECT): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let healed: PromiseWithResolvers<void> | undefined;

  /** Keeps the order of what it forwards, as TCP does. */
  function forward(from: Socket, to: Socket): void {
    let line = Promise.resolve();
    const behind = (act: () => void): void => {
      const arrival = arrivalOf(quality);
      line = line.then(async () => {
        await arrival;
        await healed?.promise;
        act();
      });
    };
    from.on("error", () => undefined);
    from.on("data", (chunk) => behind(() => void (to.destroyed || to.write(chunk))));
    from.on("close", () => {
      sockets.delete(from);
      behind(() => to.destroy());
    });
    sockets.add(from);
  }

  const server = createServer((client) => {
    const upstream = connect(target, "127.0.0.1");
    forward(client, upstream);
    forward(upstream, client);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const untrack = track(`proxy on port ${port}`);
  const heal = (): void => {
    healed?.resolve();
    healed = undefined;
  };
  return {
    port,
    cut: () => void (healed ??= Promise.withResolvers()),
    heal,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      heal();
      await closed;
      untrack();
    },
  };
}

/** Each loss doubles the time until the next attempt (RFC 6298). */
async function arrivalOf({ delayMs, loss, random }: LineQuality): Promise<void> {
  let ms = delayMs;
  for (let attempt = RETRANSMISSION_MS; random() < loss; attempt *= 2) ms += attempt;
  if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
}
