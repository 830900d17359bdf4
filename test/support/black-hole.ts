// A port that neither accepts nor refuses connections: its listener is suspended, its queue full.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { track } from "./no-leftovers.ts";
import { firstOutput } from "./programs.ts";

export interface BlackHole extends AsyncDisposable {
  readonly port: number;
  /** Accepts the connections, and answers their requests. */
  open(): void;
}

const LISTENER = `
  const server = require("node:http").createServer((_, response) => response.end());
  const [host, port] = process.argv.slice(1);
  server.listen({ host, port: Number(port), backlog: 1 }, () =>
    console.log(server.address().port));
`;
const MAX_QUEUED = 10;

export async function startBlackHole(host = "127.0.0.1", port = 0): Promise<BlackHole> {
  const listener = spawn(process.execPath, ["-e", LISTENER, host, String(port)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const untrack = track(`black hole ${host}`);
  const found = Number(await firstOutput(listener));
  listener.kill("SIGSTOP");
  const queued: Socket[] = [];
  do queued.push(connect(found, host).on("error", () => undefined));
  while (queued.length < MAX_QUEUED && (await connects(queued.at(-1))));
  return {
    port: found,
    open: () => void listener.kill("SIGCONT"),
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
    // Waits one more turn: events that arrived while this process was busy come first.
    const timer = setTimeout(() => setImmediate(resolve, false), 200);
    socket?.once("connect", () => {
      clearTimeout(timer);
      resolve(true);
    });
  });
