// The demo of `sonde serve --demo`: its target, and the calls to it, created once. The data folder
// keeps the target's port.
import { createDemoTarget } from "../demo/demo-target.ts";
import { seedDemo } from "../demo/seed-demo.ts";
import type { DataDir } from "../runtime/data-dir.ts";
import { newId } from "../runtime/ids.ts";
import type { Store } from "../store/store.ts";
import { FIRST_OWNER } from "./first-start.ts";
import { issueKey, revokeKey } from "./issue-key.ts";
import type { IssuedKey } from "./issue-key.ts";
import type { Companion } from "./process.ts";

const FILE = "demo.json";

interface Saved {
  readonly port: number;
  /** The id of the key that an unfinished seeding uses. */
  readonly seeding?: string;
}

/** The target listens on the same port at each start, since stored calls name it. */
export interface Demo extends Companion {
  /**
   * Creates the demo's calls, unless they exist. Completes them if an earlier start was cut off.
   */
  ensureCalls(
    store: Store,
    options: { readonly apiUrl: string; readonly locationId: string },
  ): Promise<void>;
}

/** Its start rejects with one line for the operator if the demo's file is damaged. */
export function createDemo(dataDir: DataDir): Demo {
  const reset = `delete ${dataDir.path(FILE)} and the demo's calls to start over`;
  const target = createDemoTarget();
  let saved: Saved | undefined;
  const save = (more: Pick<Saved, "seeding">): void => {
    const port = Number(target.address().split(":")[1]);
    dataDir.write(FILE, `${JSON.stringify({ port, ...more })}\n`);
  };
  return {
    name: "demo target",
    address: () => target.address(),
    async start() {
      saved = readSaved(dataDir, reset);
      await target.start(saved?.port ?? 0, `stop the program that uses the port, or ${reset}`);
      if (!saved) save({});
    },
    stop: () => target.stop(),
    async ensureCalls(store, options) {
      const interrupted = saved?.seeding;
      if (interrupted) await revokeKey(store, "demo", interrupted);
      else if (await hasCalls(store, target.address())) return;
      const key_id = newId(await store.now());
      save({ seeding: key_id });
      await withKey(store, key_id, (apiKey) =>
        seedDemo({ ...options, apiKey, target: target.address() }),
      );
      save({});
    },
  };
}

function readSaved(dataDir: DataDir, reset: string): Saved | undefined {
  const text = dataDir.read(FILE);
  try {
    return text === undefined ? undefined : (JSON.parse(text) as Saved);
  } catch (cause) {
    throw new Error(`the demo's file is damaged: ${reset}`, { cause });
  }
}

async function hasCalls(store: Store, address: string): Promise<boolean> {
  const calls = await store.documents.listAll("call", "domain", "127.0.0.1");
  return calls.some(({ document }) => JSON.stringify(document).includes(`http://${address}/`));
}

/** Issues a key for the duration of the work. */
async function withKey(
  store: Store,
  key_id: string,
  work: (apiKey: string) => Promise<void>,
): Promise<void> {
  const issued = await issueKey(store, "demo", {
    key_id,
    owner: FIRST_OWNER,
    org: null,
    access_level: "EDITOR",
  });
  try {
    await work((issued as IssuedKey).api_key); // a new id is never taken
  } finally {
    await revokeKey(store, "demo", key_id);
  }
}
