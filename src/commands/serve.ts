// `sonde serve`: runs the roles of this process until a signal ends it.
import { compose } from "../compose.ts";
import type { System } from "../compose.ts";
import type { Config } from "../config.ts";
import { openDataDir } from "../data-dir.ts";
import type { DataDir } from "../data-dir.ts";
import { KEY_FILE } from "../first-start.ts";
import { createLogger } from "../runtime/logger.ts";
import { VERSION } from "../version.ts";
import { createDemo } from "./demo.ts";
import type { Demo } from "./demo.ts";

export interface ServeOptions {
  readonly config: Config;
  readonly demo: boolean;
  /** For people; the log goes its own way. */
  readonly print: (text: string) => void;
  /** Resolves when the end is wished for. */
  readonly stop: Promise<NodeJS.Signals>;
}

/**
 * Resolves when a signal asked for the end and everything has stopped; rejects when it could not start or stop. A signal
 * during the start ends it: the process, where servers are still awaited, for nothing is begun by then.
 */
export async function serve(options: ServeOptions): Promise<void> {
  const { config, print, stop } = options;
  const log = createLogger(config.logLevel);
  const dataDir = openDataDir(config.dataDir);
  const demo = options.demo ? createDemo(dataDir) : undefined;
  let system: System | undefined;
  const start = async (): Promise<void> => {
    await demo?.start();
    const egressAllow = demo ? [demo.address()] : [];
    system = await compose({ config, dataDir, log, egressAllow });
    await system.lifecycle.start();
  };
  const end = async (): Promise<void> => {
    await system?.lifecycle.stop();
    await demo?.stop();
  };
  try {
    await Promise.race([start(), stop]);
    if (system?.lifecycle.state() === "running") {
      log.info({ version: VERSION, roles: config.roles }, "started");
      // Wholly, whatever the signal: the first key is shown now or never.
      await greet(system, { config, dataDir, demo, print });
    }
  } catch (cause) {
    await end().catch(() => undefined); // logged; what matters is why the start failed
    throw cause;
  }
  const signal = await stop;
  if (system === undefined) {
    log.info({ signal }, "stopped before it had started");
    process.exit(0); // what is awaited would keep it up
  }
  log.info({ signal }, "stopping");
  await end();
  log.info("stopped");
}

interface Greeting {
  readonly config: Config;
  readonly dataDir: DataDir;
  readonly demo: Demo | undefined;
  readonly print: (text: string) => void;
}

async function greet(
  system: System,
  { config, dataDir, demo, print }: Greeting,
): Promise<void> {
  const { api, store, ops } = system;
  const opsAddress = ops.address();
  if (!api || !store) return;
  const apiUrl = api.address() ?? "";
  const key = system.firstKey();
  await demo?.ensureCalls(store, { apiUrl, locationId: config.location });
  print(
    [
      "",
      `  Sonde is at        ${apiUrl}/api/2/`,
      `  its documentation  ${apiUrl}/docs`,
      `  health, metrics    http://${opsAddress?.host}:${opsAddress?.port}/readyz, /metrics`,
      ...(demo
        ? [
            `  demo target        http://${demo.address()}/steady, /slow, /flaky, /failing, /cookies`,
          ]
        : []),
      ...(key
        ? [
            "",
            `  The first key, of level OWNER, shown only now and kept in ${dataDir.path(KEY_FILE)}:`,
            `  ${key}`,
            "",
            `  curl -H 'Authorization: Bearer ${key}' '${apiUrl}/api/2/calls/?debug=1'`,
          ]
        : []),
      "",
      "",
    ].join("\n"),
  );
}
