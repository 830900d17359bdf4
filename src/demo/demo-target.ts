// The demo's target: a small HTTP server on loopback whose paths are steady, slow, flaky, failing
// or set a cookie.
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { listenFault } from "../runtime/listen-fault.ts";

const HOST = "127.0.0.1";
const SLOW_MS = 800;
const FLAKY_FAILS_EVERY = 4;

type Answer = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

export function createDemoTarget() {
  const answers = demoAnswers();
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? "/", `http://${HOST}`).pathname;
    const answer =
      answers[path] ?? ((_, missing) => send(missing, 404, { error: "no such demo path" }));
    void answer(request, response);
  });
  return {
    /** `host:port`; "" while it does not listen. */
    address: (): string => {
      const address = server.address() as AddressInfo | null;
      return address ? `${HOST}:${address.port}` : "";
    },
    /**
     * Port 0 asks for a free one. If it cannot listen, rejects with a line that ends in `hint`.
     */
    async start(port: number, hint: string): Promise<void> {
      server.listen(port, HOST);
      await once(server, "listening").catch((cause: unknown) => {
        const what = "the demo target";
        throw listenFault(cause, { what, host: HOST, port, inUse: hint, otherwise: hint });
      });
    },
    async stop(): Promise<void> {
      if (!server.listening) return;
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

function demoAnswers(): Readonly<Record<string, Answer>> {
  let flakyCalls = 0;
  return {
    "/steady": (_, response) => send(response, 200, { status: "ok" }),
    "/slow": async (_, response) => {
      await delay(SLOW_MS);
      send(response, 200, { status: "ok", slept_ms: SLOW_MS });
    },
    "/flaky": (_, response) => {
      flakyCalls += 1;
      const fails = flakyCalls % FLAKY_FAILS_EVERY === 0;
      send(response, fails ? 503 : 200, {
        status: fails ? "unavailable" : "ok",
      });
    },
    "/failing": (_, response) => send(response, 500, { status: "broken" }),
    "/cookies": (request, response) => {
      response.setHeader("set-cookie", "session=demo; Path=/; HttpOnly");
      send(response, 200, { cookie: request.headers.cookie ?? null });
    },
  };
}

function send(response: ServerResponse, status: number, body: object): void {
  if (response.destroyed) return;
  response.writeHead(status, { "content-type": "application/json" });
  response.end(`${JSON.stringify(body)}\n`);
}
