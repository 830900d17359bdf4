// A port that takes no connection and refuses none: its listener is stopped and its queue is full.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { track } from "./no-leftovers.ts";
import { firstOutput } from "./programs.ts";

export interface BlackHole extends AsyncDisposable {
  readonly port: number;
}

const LISTENER = `
  const server = require("node:net").createServer();
  const [host, port] = process.argv.slice(1);
  server.listen({ host, port: Number(port), backlog: 1 }, () =>
    console.log(server.address().port));
`;
const MOST_QUEUED = 10;

export async function startBlackHole(host = "127.0.0.1", port = 0): Promise<BlackHole> {
  const listener = spawn(process.execPath, ["-e", LISTENER, host, String(port)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const untrack = track(`black hole ${host}`);
  const found = Number(await firstOutput(listener));
  listener.kill("SIGSTOP");
  const queued: Socket[] = [];
  do queued.push(connect(found, host).on("error", () => undefined));
  while (queued.length < MOST_QUEUED && (await connects(queued.at(-1))));
  return {
    port: found,
    async [Symbol.asyncDispose]() {
      for (const socket of queued) socket.destroy();
      const exited = once(listener, "exit");
      listener.kill("SIGKILL");
      await exited;
      untrack();
    },
  };
}

const connects = (socket: Socket | undefined): Promise<boolean> =>
  new Promise((resolve) => {
    // In the turn after: what came while this process was held up is looked at first.
    const timer = setTimeout(() => setImmediate(resolve, false), 200);
    socket?.once("connect", () => {
      clearTimeout(timer);
      resolve(true);
    });
  });
