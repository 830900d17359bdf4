// `sonde serve`: runs the roles of this process until a signal ends it.
import { compose } from "../compose.ts";
import type { System } from "../compose.ts";
import type { Config } from "../config.ts";
import { openDataDir } from "../data-dir.ts";
import type { DataDir } from "../data-dir.ts";
import { createDemoTarget } from "../demo/demo-target.ts";
import type { DemoTarget } from "../demo/demo-target.ts";
import { seedDemo } from "../demo/seed-demo.ts";
import { FIRST_OWNER, KEY_FILE } from "../first-start.ts";
import { issueKey, revokeKey } from "../issue-key.ts";
import type { IssuedKey } from "../issue-key.ts";
import { createLogger } from "../runtime/logger.ts";
import type { Store } from "../store/store.ts";
import { VERSION } from "../version.ts";

const DEMO_FILE = "demo.json";

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
export async function serve({
  config,
  demo,
  print,
  stop,
}: ServeOptions): Promise<void> {
  const log = createLogger(config.logLevel);
  const dataDir = openDataDir(config.dataDir);
  const target = demo ? await startDemoTarget(dataDir) : undefined;
  let system: System | undefined;
  const start = async (): Promise<void> => {
    system = await compose({
      config,
      dataDir,
      log,
      ...(target && { companions: [target], egressAllow: [target.address()] }),
    });
    await system.lifecycle.start();
    if (system.lifecycle.state() !== "running") return;
    log.info({ version: VERSION, roles: config.roles }, "started");
    await greet(system, { config, dataDir, target, print });
  };
  const end = async (): Promise<void> => {
    await system?.lifecycle.stop();
    await target?.stop();
  };
  try {
    await Promise.race([start(), stop]);
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
  readonly target: DemoTarget | undefined;
  readonly print: (text: string) => void;
}

async function greet(
  system: System,
  { config, dataDir, target, print }: Greeting,
): Promise<void> {
  const { api, store, ops } = system;
  const opsAddress = ops.address();
  if (!api || !store) return;
  const apiUrl = api.address() ?? "";
  const key = system.firstKey();
  if (target && !(await isSeeded(store, target)))
    await seed(store, { apiUrl, target, locationId: config.location });
  print(
    [
      "",
      `  Sonde is at        ${apiUrl}/api/2/`,
      `  its documentation  ${apiUrl}/docs`,
      `  health, metrics    http://${opsAddress?.host}:${opsAddress?.port}/readyz, /metrics`,
      ...(target
        ? [
            `  demo target        http://${target.address()}/steady, /slow, /flaky, /failing, /cookies`,
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

/** At the port that it had before, if any: stored calls name it. */
async function startDemoTarget(dataDir: DataDir): Promise<DemoTarget> {
  const kept = dataDir.read(DEMO_FILE);
  const { port = 0 } =
    kept === undefined ? {} : (JSON.parse(kept) as { readonly port?: number });
  const hint = `stop what uses the port, or delete ${dataDir.path(DEMO_FILE)} and the demo's calls for a new one`;
  const target = createDemoTarget(port, hint);
  await target.start();
  dataDir.write(
    DEMO_FILE,
    `${JSON.stringify({ port: Number(target.address().split(":")[1]) })}\n`,
  );
  return { ...target, start: async () => undefined };
}

async function isSeeded(store: Store, target: DemoTarget): Promise<boolean> {
  const calls = await store.documents.listAll("call", "domain", "127.0.0.1");
  return calls.some(({ document }) =>
    JSON.stringify(document).includes(`http://${target.address()}/`),
  );
}

/** With a key of its own that lives for as long as it takes. */
async function seed(
  store: Store,
  options: {
    readonly apiUrl: string;
    readonly target: DemoTarget;
    readonly locationId: string;
  },
): Promise<void> {
  const { apiUrl, target, locationId } = options;
  const issued = await issueKey(store, "demo", {
    owner: FIRST_OWNER,
    org: null,
    access_level: "EDITOR",
  });
  const { api_key: apiKey, key_id } = issued as IssuedKey; // its id is new
  await seedDemo({ apiUrl, apiKey, target: target.address(), locationId });
  await revokeKey(store, "demo", key_id);
}
