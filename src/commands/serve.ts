// `sonde serve`: runs the roles of this process until a signal ends it.
import { compose } from "../compose/process.ts";
import type { System } from "../compose/process.ts";
import type { Config } from "../config/config.ts";
import { openDataDir } from "../runtime/data-dir.ts";
import type { DataDir } from "../runtime/data-dir.ts";
import { KEY_FILE } from "../compose/first-start.ts";
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
 * Resolves when a signal asked for the end and everything has stopped; rejects when it could not
 * start or stop. A signal during the start ends it: the process, where servers are still awaited,
 * for nothing is begun by then.
 */
export async function serve(options: ServeOptions): Promise<void> {
  const { config, print, stop } = options;
  const log = createLogger(config.logLevel);
  const dataDir = openDataDir(config.dataDir);
  const demo = options.demo ? createDemo(dataDir) : undefined;
  let system: System | undefined;
  const start = async (): Promise<void> => {
    system = await compose({
      config,
      dataDir,
      log,
      ...(demo && { companion: demo }),
    });
    await system.lifecycle.start();
  };
  try {
    await Promise.race([start(), stop]);
    if (system?.lifecycle.state() === "running") {
      log.info({ version: VERSION, roles: config.roles }, "started");
      // The first key is shown now or never, whatever becomes of the demo.
      print(greeting(system, dataDir, demo));
      await makeDemoCalls(demo, system, config.location);
    }
  } catch (cause) {
    // Logged; what matters is why the start failed.
    await system?.lifecycle.stop().catch(() => undefined);
    throw cause;
  }
  const signal = await stop;
  if (system === undefined) {
    log.info({ signal }, "stopped before it had started");
    process.exit(0); // what is awaited would keep it up
  }
  log.info({ signal }, "stopping");
  await system.lifecycle.stop();
  log.info("stopped");
}

/** For a process with the API, whom to talk to; else nothing. */
function greeting(system: System, dataDir: DataDir, demo: Demo | undefined): string {
  const { api, ops } = system;
  if (!api) return "";
  const apiUrl = api.address() ?? "";
  const opsAddress = ops.address();
  const key = system.firstKey();
  return [
    "",
    `  Sonde is at        ${apiUrl}/api/2/`,
    `  its documentation  ${apiUrl}/docs`,
    `  health, metrics    http://${opsAddress?.host}:${opsAddress?.port}/readyz, /metrics`,
    ...(demo
      ? [`  demo target        http://${demo.address()}/steady, /slow, /flaky, /failing, /cookies`]
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
  ].join("\n");
}

/** Where there is an API to make them through. */
async function makeDemoCalls(
  demo: Demo | undefined,
  { api, store }: System,
  locationId: string,
): Promise<void> {
  if (!demo || !api || !store) return;
  await demo.ensureCalls(store, { apiUrl: api.address() ?? "", locationId });
}
