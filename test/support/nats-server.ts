// A real nats-server on loopback, in a temporary folder.
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { freePort } from "./free-port.ts";
import { killAtExit } from "./kill-at-exit.ts";
import { track } from "./no-leftovers.ts";
import { findProgram } from "./programs.ts";

export interface NatsServerOptions {
  /** Default a free one. */
  readonly port?: number;
  /** Default a temporary folder, removed on disposal. */
  readonly storeDir?: string;
  /** Contents of the configuration file. */
  readonly config?: string;
  /** Default true. */
  readonly jetstream?: boolean;
}

export interface NatsServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Kills the server, like a crash. */
  kill(): Promise<void>;
  /** Restarts a killed server on the same port, with its store, an empty one or no JetStream. */
  restart(options?: {
    readonly emptyStore?: boolean;
    readonly config?: string;
    readonly jetstream?: boolean;
  }): Promise<void>;
  /** Tells the running server to read this configuration; it does so within moments. */
  reload(config: string): void;
}

export async function startNatsServer(options: NatsServerOptions = {}): Promise<NatsServer> {
  const program = findProgram("nats-server");
  if (program === undefined)
    throw new Error(
      "nats-server is not installed: apt-get install nats-server, or put its folder on the PATH",
    );
  const port = options.port ?? (await freePort());
  const directory = mkdtempSync(join(tmpdir(), "sonde-nats-"));
  const store = options.storeDir ?? join(directory, "store");
  const config = join(directory, "nats.conf");
  writeFileSync(config, options.config ?? "");
  const address = ["-a", "127.0.0.1", "-p", String(port)];
  let server: ChildProcess | undefined;
  const start = async (jetstream = true): Promise<void> => {
    const storage = jetstream ? ["-js", "-sd", store] : [];
    server = killAtExit(
      spawn(program, ["-c", config, ...address, ...storage], {
        stdio: ["ignore", "ignore", "pipe"],
      }),
    );
    await untilReady(server);
  };

  await start(options.jetstream);
  const stopped = track(`nats-server on port ${port}`);
  const kill = async (): Promise<void> => {
    if (server?.exitCode !== null || server.signalCode !== null) return;
    const exited = once(server, "exit");
    server.kill("SIGKILL");
    await exited;
  };

  return {
    url: `nats://127.0.0.1:${port}`,
    port,
    get pid() {
      return server?.pid as number;
    },
    kill,
    async restart({ emptyStore = false, config: changed, jetstream } = {}) {
      if (changed !== undefined) writeFileSync(config, changed);
      if (emptyStore) rmSync(store, { recursive: true, force: true });
      await start(jetstream);
    },
    reload(changed) {
      writeFileSync(config, changed);
      server?.kill("SIGHUP");
    },
    async [Symbol.asyncDispose]() {
      await kill();
      rmSync(directory, { recursive: true, force: true });
      stopped();
    },
  };
}

/** Starts three servers; `stack` disposes of them. */
export async function startNatsCluster(stack: AsyncDisposableStack): Promise<NatsServer[]> {
  const ports = await Promise.all([freePort(), freePort(), freePort()]);
  const routes = ports.map((port) => `nats://127.0.0.1:${port}`);
  return Promise.all(
    ports.map(async (port, at) =>
      stack.use(
        await startNatsServer({
          config: `server_name: n${at}
cluster { name: test, listen: "127.0.0.1:${port}", routes: ${JSON.stringify(routes)} }`,
        }),
      ),
    ),
  );
}

/** Waits for the line on stderr that reports readiness. */
async function untilReady(child: ChildProcess): Promise<void> {
  const stderr = child.stderr;
  if (!stderr) throw new Error("nats-server has no stderr");
  const said: string[] = [];
  for await (const line of createInterface({ input: stderr })) {
    if (line.includes("Server is ready")) {
      stderr.resume(); // a full pipe would block the server
      return;
    }
    said.push(line);
  }
  throw new Error(`nats-server did not start: ${said.join("\n")}`);
}
