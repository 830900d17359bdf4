// Targets for calls, on a free port of loopback: one speaks HTTP, one sends raw bytes.
import { createServer as createHttpServer } from "node:http";
import type { IncomingMessage, RequestListener } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { ServerOptions } from "node:https";
import { createServer as createTcpServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { track } from "./no-leftovers.ts";

export interface Target extends AsyncDisposable {
  readonly port: number;
  /** `127.0.0.1:<port>`, as egress rules name it. */
  readonly authority: string;
  /** Has no path. */
  readonly url: string;
  /** Connections accepted so far. */
  connections(): number;
  /** Connections open now. */
  open(): number;
}

export interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

export interface HttpTarget extends Target {
  /** Requests received in full, oldest first. */
  readonly requests: readonly ReceivedRequest[];
}

export interface TargetOptions {
  readonly tls?: ServerOptions;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default a free one. */
  readonly port?: number;
}

/** Starts a target that answers once the whole request has arrived; by default with 200 "ok". */
export async function startTarget(
  handler: RequestListener = (_, response) => response.end("ok"),
  options: TargetOptions = {},
): Promise<HttpTarget> {
  const requests: ReceivedRequest[] = [];
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("error", () => undefined);
    request.on("end", () => {
      requests.push(received(request, Buffer.concat(chunks)));
      handler(request, response);
    });
  };
  const server = options.tls
    ? createHttpsServer(options.tls, listener)
    : createHttpServer(listener);
  return { ...(await listen(server, options)), requests };
}

const received = (
  { method = "", url = "", headers, rawHeaders }: IncomingMessage,
  body: Buffer,
): ReceivedRequest => ({
  method,
  url,
  headers,
  rawHeaders,
  body: body.toString(),
});

/** Starts a target that passes each connection to `onConnection`, which must read and answer. */
export const startRawTarget = (onConnection: (socket: Socket) => void): Promise<Target> =>
  listen(createTcpServer(onConnection));

/**
 * For `startRawTarget`: sends the bytes when a request begins to arrive, then closes by default.
 */
export const answering =
  (bytes: string | Buffer, { close = true } = {}) =>
  (socket: Socket): void => {
    socket.once("data", () => {
      socket.write(bytes);
      if (close) socket.end();
    });
  };

/** For `startRawTarget`: sends `start` when a request begins to arrive, then pieces forever. */
export const endless =
  (start: string, piece: string | Buffer) =>
  (socket: Socket): void => {
    const more = (): void => {
      while (!socket.destroyed && socket.write(piece));
    };
    socket.once("data", () => {
      socket.write(start);
      more();
    });
    socket.on("drain", more);
  };

/** For `startRawTarget`: reads and never answers. */
export const silent = (socket: Socket): void => {
  socket.resume();
};

async function listen(
  server: Server,
  { host = "127.0.0.1", port: wanted = 0, tls }: TargetOptions = {},
): Promise<Target> {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on("connection", (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => sockets.delete(socket));
  });
  server.on("tlsClientError", () => undefined);
  server.on("secureConnection", (socket: Socket) => socket.on("error", () => undefined));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(wanted, host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  const authority = host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
  const untrack = track(`target ${authority}`);
  return {
    port,
    authority,
    url: `${tls ? "https" : "http"}://${authority}`,
    connections: () => connections,
    open: () => sockets.size,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      untrack();
    },
  };
}
