// The demo of `sonde serve --demo`: its target, calls to it, and some history in an empty store,
// created once. The data folder keeps the target's port and the unfinished steps.
import { createDemoTarget } from "../demo/demo-target.ts";
import { seedDemo } from "../demo/seed-demo.ts";
import type { DataDir } from "../runtime/data-dir.ts";
import { newId } from "../runtime/ids.ts";
import type { Store } from "../store/store.ts";
import { fillHistory, historyStart } from "./demo-history.ts";
import type { HistoryOptions } from "./demo-history.ts";
import { FIRST_OWNER } from "./first-start.ts";
import { issueKey, revokeKey } from "./issue-key.ts";
import type { IssuedKey } from "./issue-key.ts";

const FILE = "demo.json";

interface Saved {
  readonly port: number;
  /** The id of the key used by an unfinished seeding. */
  readonly seeding?: string;
  /** Where an unfinished history begins, epoch milliseconds. */
  readonly history?: number;
}

export type Demo = ReturnType<typeof createDemo>;

/**
 * The target listens on the same port at each start, since stored calls name it. The start rejects
 * with one line for the operator if the demo's file is damaged.
 */
export function createDemo(dataDir: DataDir) {
  const reset = `delete ${dataDir.path(FILE)} and the demo's calls to start over`;
  const target = createDemoTarget();
  let saved: Saved | undefined;
  const save = (more: Omit<Saved, "port">): void => {
    saved = { port: Number(target.address().split(":")[1]), ...more };
    dataDir.write(FILE, `${JSON.stringify(saved)}\n`);
  };
  return {
    name: "demo target",
    /** `host:port` of the target, once started. */
    address: () => target.address(),
    async start(): Promise<void> {
      saved = readSaved(dataDir, reset);
      await target.start(saved?.port ?? 0, `stop the program that uses it, or ${reset}`);
      if (!saved) save({});
    },
    stop: () => target.stop(),
    /**
     * Creates the demo's calls, unless they exist. Completes those of an interrupted start.
     */
    async ensureCalls(
      store: Store,
      options: { readonly apiUrl: string; readonly locationId: string },
    ): Promise<void> {
      const { seeding: interrupted, history: begun } = saved ?? {};
      if (interrupted) await revokeKey(store, "demo", interrupted);
      else if (await hasCalls(store, target.address())) return;
      const now = await store.now();
      const history = begun ?? ((await isEmpty(store)) ? historyStart(now) : undefined);
      const key_id = newId(now);
      save({ seeding: key_id, history });
      await withKey(store, key_id, (apiKey) =>
        seedDemo({ ...options, apiKey, target: target.address() }),
      );
      save({ history });
    },
    /**
     * Fills the history, or completes it. Returns false if there is none to fill: the store was not
     * empty, or the history is complete. Rejects with the signal's reason.
     */
    async fillHistory(options: Omit<HistoryOptions, "from">): Promise<boolean> {
      if (saved?.history === undefined) return false;
      await fillHistory({ ...options, from: saved.history });
      save({});
      return true;
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

const isEmpty = async (store: Store): Promise<boolean> =>
  (await store.documents.listKind("call", { after: "", limit: 1 })).length === 0;

async function hasCalls(store: Store, address: string): Promise<boolean> {
  for await (const id of store.documents.ids("call", { domain: "127.0.0.1" })) {
    const { document = {} } = (await store.documents.get("call", id)) ?? {};
    if (JSON.stringify(document).includes(`http://${address}/`)) return true;
  }
  return false;
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
    name: "Demo",
  });
  try {
    await work((issued as IssuedKey).api_key); // a new id is never taken
  } finally {
    await revokeKey(store, "demo", key_id);
  }
}
