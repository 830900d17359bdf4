// A target in a thread of its own: it answers whatever this thread does.
import { once } from "node:events";
import type { TlsOptions } from "node:tls";
import { Worker } from "node:worker_threads";
import { track } from "./no-leftovers.ts";

const PROGRAM = `
  const http = require("node:http");
  const https = require("node:https");
  const net = require("node:net");
  const { parentPort, workerData } = require("node:worker_threads");
  const { requests, answerMs, bodyMs, bytes, tls, handshakeMs } = workerData;
  const answer = (request, response) => {
    Atomics.add(requests, 0, 1);
    Atomics.notify(requests, 0);
    parentPort.postMessage("request");
    setTimeout(() => {
      response.write("x".repeat(bytes));
      const end = () => response.end("ok");
      setTimeout(() => request.resume().once("end", end), bodyMs);
    }, answerMs);
  };
  const server = tls ? https.createServer(tls, answer) : http.createServer(answer);
  const listener = net.createServer({ pauseOnConnect: true }, (socket) => {
    parentPort.postMessage("connection");
    setTimeout(() => {
      server.emit("connection", socket);
      socket.resume();
    }, handshakeMs);
  });
  listener.listen(0, "127.0.0.1", () => parentPort.postMessage(listener.address().port));
`;

export interface ThreadTargetOptions {
  /** How long each request waits for its answer. */
  readonly answerMs?: number;
  /** How long the end of an answer, which waits for the request, waits after its first bytes. */
  readonly bodyMs?: number;
  /** Number of first bytes. */
  readonly bytes?: number;
  /** Serves https. */
  readonly tls?: TlsOptions;
  /** How long each connection waits for the server. */
  readonly handshakeMs?: number;
}

/** Counts its requests in shared memory. */
export async function startThreadTarget({
  answerMs = 0,
  bodyMs = 0,
  bytes = 1,
  tls,
  handshakeMs = 0,
}: ThreadTargetOptions = {}) {
  const requests = new Int32Array(new SharedArrayBuffer(4));
  const workerData = { requests, answerMs, bodyMs, bytes, tls, handshakeMs };
  const worker = new Worker(PROGRAM, { eval: true, workerData });
  const stopped = track("target thread");
  const [port] = (await once(worker, "message")) as [number];
  return {
    requests,
    authority: `127.0.0.1:${port}`,
    /** Calls `handle` once, on the next connection or request. */
    on(event: "connection" | "request", handle: () => void): void {
      const listen = (message: unknown): void => {
        if (message !== event) return;
        worker.off("message", listen);
        handle();
      };
      worker.on("message", listen);
    },
    async [Symbol.asyncDispose]() {
      await worker.terminate();
      stopped();
    },
  };
}
