// A target in a thread of its own: it answers whatever this thread does.
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { track } from "./no-leftovers.ts";

const PROGRAM = `
  const { createServer } = require("node:http");
  const { parentPort, workerData: { requests, answerMs } } = require("node:worker_threads");
  const server = createServer((_, response) => {
    Atomics.add(requests, 0, 1);
    Atomics.notify(requests, 0);
    parentPort.postMessage("request");
    setTimeout(() => response.end("ok"), answerMs);
  });
  server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
`;

/** Counts its requests in shared memory, and answers each after `answerMs`. */
export async function startThreadTarget(answerMs = 0) {
  const requests = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(PROGRAM, { eval: true, workerData: { requests, answerMs } });
  const stopped = track("target thread");
  const [port] = (await once(worker, "message")) as [number];
  return {
    requests,
    authority: `127.0.0.1:${port}`,
    /** Calls `handle` once, on the next request. */
    onRequest: (handle: () => void) => void worker.once("message", handle),
    async [Symbol.asyncDispose]() {
      await worker.terminate();
      stopped();
    },
  };
}
