// `sonde serve`: runs the roles of this process until a signal ends it.
import type { Command } from "commander";
import type { Demo } from "../compose/demo.ts";
import { FIRST_KEY_ID, KEY_FILE } from "../compose/first-start.ts";
import type { System } from "../compose/process.ts";
import { hashApiKey } from "../runtime/api-key.ts";
import { saveCompiledCode } from "../runtime/compiled-code.ts";
import { openDataDir } from "../runtime/data-dir.ts";
import type { DataDir } from "../runtime/data-dir.ts";
import type { Logger } from "../runtime/logger.ts";
import { releaseMemory } from "../runtime/memory.ts";
import { VERSION } from "../version.ts";
import { examples } from "./command.ts";
import type { Context } from "./command.ts";
import { greeting, historyReady } from "./greeting.ts";
import { listenForStop } from "./stop-signal.ts";

interface ServeOptions {
  readonly roles?: string;
  readonly demo?: true;
}

export function addServeCommand(program: Command, context: Context): void {
  program
    .command("serve")
    .description("Run the roles of this process until a signal stops it.")
    .option("--roles <list>", "any of api, scheduler, agent and aggregator (default: all)")
    .option("--demo", "add a demo target, calls to it, and simulated history")
    .addHelpText(
      "after",
      examples("sonde serve --demo", "sonde serve --roles api,scheduler,aggregator"),
    )
    // Listens until the process ends: a signal that comes twice must not change its exit code.
    .action((options: ServeOptions) => serve(context, options, listenForStop().stop));
}

/**
 * Resolves when `stop` has resolved and everything has stopped; rejects if a service cannot start
 * or stop, or an agent's thread ends by itself. A signal during startup stops what has started;
 * while the process still waits for a server to connect to, the signal ends it immediately.
 */
async function serve(
  { config: configured, print: toStdout }: Context,
  { roles, demo: isDemo }: ServeOptions,
  stop: Promise<NodeJS.Signals>,
): Promise<void> {
  const config = configured({ SONDE_ROLES: roles });
  // The other commands start in half the time without the modules of the service.
  const { compose } = await import("../compose/process.ts");
  const { logSettingsOf, openLog } = await import("../runtime/logger.ts");
  const logSettings = logSettingsOf(config.logLevel, config.logFormat);
  const { log, print = toStdout } = await openLog(logSettings);
  const dataDir = openDataDir(config.dataDir);
  const demo = isDemo ? (await import("../compose/demo.ts")).createDemo(dataDir) : undefined;
  let system: System | undefined;
  let endHistory = async (): Promise<void> => undefined;
  const start = async (): Promise<void> => {
    system = await compose({ config, dataDir, log, demo });
    await system.lifecycle.start();
  };
  let signal: NodeJS.Signals;
  try {
    await Promise.race([start(), stop]);
    if (system?.lifecycle.state() === "running") {
      log.info({ version: VERSION, roles: config.roles }, "started");
      // Printed before the demo's calls are created: if that fails, the first key has been shown.
      const link = isDemo ? await linkTo(system, config.publicUrl) : undefined;
      const keyFile = await keyFileIn(dataDir, system);
      print(greeting(system, { keyFile, demo, config, link }));
      await makeDemoCalls(demo, system, config.location);
      saveCompiledCode();
      if (system.store) releaseMemory(); // without one, an agent makes its calls in this thread
      endHistory = startHistory(demo, system, log, (apiUrl) =>
        print(historyReady(apiUrl, keyFile)),
      );
    }
    signal = await (system ? Promise.race([stop, system.failed]) : stop);
  } catch (cause) {
    await endHistory();
    // A failed stop is logged; the caller needs to know what failed first.
    await system?.lifecycle.stop().catch(() => undefined);
    throw cause;
  }
  if (system === undefined) {
    log.info({ signal }, "stopped before startup completed");
    process.exit(0); // a pending connection would keep the process alive
  }
  log.info({ signal }, "stopping");
  await endHistory();
  await system.lifecycle.stop();
  log.info("stopped");
}

/** Returns the file with the first key, if that is an active key of this store. */
async function keyFileIn(dataDir: DataDir, { store }: System): Promise<string | undefined> {
  const key = keyIn(dataDir);
  const isKnown = key !== undefined && (await store?.apiKeys.findByHash(hashApiKey(key)));
  return isKnown ? dataDir.path(KEY_FILE) : undefined;
}

function keyIn(dataDir: DataDir): string | undefined {
  try {
    return dataDir.read(KEY_FILE)?.trimEnd();
  } catch {
    return undefined; // a file that this user may not read
  }
}

/** Returns a link that signs in to the pages; undefined if this process does not serve them. */
async function linkTo(
  { api, store }: System,
  publicUrl: string | undefined,
): Promise<string | undefined> {
  if (!api || !store) return undefined;
  const { signInLink } = await import("../compose/sign-in-link.ts");
  const url = publicUrl ?? api.address() ?? "";
  return signInLink(store, "demo", { keyId: FIRST_KEY_ID, url });
}

/** Does nothing unless this process runs the API, which creates the calls. */
async function makeDemoCalls(
  demo: Demo | undefined,
  { api, store }: System,
  locationId: string,
): Promise<void> {
  if (!demo || !api || !store) return;
  await demo.ensureCalls(store, { apiUrl: api.address() ?? "", locationId });
}

/**
 * Fills the demo's history in the background. Returns a function that ends this, complete or not.
 */
function startHistory(
  demo: Demo | undefined,
  { api, store, holder }: System,
  log: Logger,
  ready: (apiUrl: string) => void,
): () => Promise<void> {
  const controller = new AbortController();
  const { signal } = controller;
  const fill = async (): Promise<void> => {
    if (!demo || !api || !store) return;
    try {
      const options = { store, holder, log: log.child({ role: "demo" }), signal };
      if (await demo.fillHistory(options)) ready(api.address() ?? "");
    } catch (err) {
      if (!signal.aborted)
        log.warn({ err }, "demo history incomplete: the next start completes it");
    }
  };
  const filled = fill();
  return async () => {
    controller.abort();
    await filled;
  };
}
