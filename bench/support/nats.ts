// A nats-server with JetStream on loopback, durable as its users start it.
import { connect } from "node:net";
import { once } from "node:events";
import { findProgram } from "../../test/support/programs.ts";
import { freePort } from "../../test/support/free-port.ts";
import { makeFolder, sleep, startChild, stopChild } from "./children.ts";

export interface Nats extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
}

export const NO_NATS = "nats-server: apt-get install nats-server";

/** Undefined if it is not installed. */
export async function startNats(): Promise<Nats | undefined> {
  const program = findProgram("nats-server");
  if (program === undefined) return undefined;
  const port = await freePort();
  const log = `${makeFolder()}/nats.log`;
  const child = startChild(
    [program, "-a", "127.0.0.1", "-p", String(port), "-js", "-sd", makeFolder(), "-l", log],
    { core: "other" },
  );
  await untilListening(port);
  return {
    url: `nats://127.0.0.1:${port}`,
    pid: child.pid ?? 0,
    [Symbol.asyncDispose]: () => stopChild(child),
  };
}

/** Rejects after ten seconds. */
export async function untilListening(port: number): Promise<void> {
  for (let attempt = 0; attempt < 500; attempt += 1) {
    const socket = connect(port, "127.0.0.1");
    const isUp = await once(socket, "connect").then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isUp) return;
    await sleep(20);
  }
  throw new Error(`nothing listens on port ${port}`);
}
