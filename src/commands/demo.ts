// The demo of `sonde serve --demo`: its target, and the calls of it that are made once. The data
// folder keeps the port.
import type { Companion } from "../compose/process.ts";
import type { DataDir } from "../runtime/data-dir.ts";
import { createDemoTarget } from "../demo/demo-target.ts";
import { seedDemo } from "../demo/seed-demo.ts";
import { FIRST_OWNER } from "../compose/first-start.ts";
import { issueKey, revokeKey } from "../compose/issue-key.ts";
import type { IssuedKey } from "../compose/issue-key.ts";
import { newId } from "../runtime/ids.ts";
import type { Store } from "../store/store.ts";

const FILE = "demo.json";

interface Kept {
  readonly port: number;
  /** The id of the key of a seeding that has begun and not ended. */
  readonly seeding?: string;
}

/** The target listens at the port that it had before, if any: stored calls name it. */
export interface Demo extends Companion {
  /** Makes the demo's calls where there are none, or a start that was ended has made some only. */
  ensureCalls(
    store: Store,
    options: { readonly apiUrl: string; readonly locationId: string },
  ): Promise<void>;
}

/**
 * Its start rejects with one line for the operator when the data folder holds something else in the
 * demo's place.
 */
export function createDemo(dataDir: DataDir): Demo {
  const renew = `delete ${dataDir.path(FILE)} and the demo's calls to begin anew`;
  const target = createDemoTarget();
  let kept: Kept | undefined;
  const keep = (more: Pick<Kept, "seeding">): void => {
    const port = Number(target.address().split(":")[1]);
    dataDir.write(FILE, `${JSON.stringify({ port, ...more })}\n`);
  };
  return {
    name: "demo target",
    address: () => target.address(),
    async start() {
      kept = readKept(dataDir, renew);
      const hint = `stop what uses the port, or ${renew}`;
      await target.start(kept?.port ?? 0, hint);
      if (!kept) keep({});
    },
    stop: () => target.stop(),
    async ensureCalls(store, options) {
      const interrupted = kept?.seeding;
      if (interrupted) await revokeKey(store, "demo", interrupted);
      else if (await hasCalls(store, target.address())) return;
      const key_id = newId(await store.now());
      keep({ seeding: key_id });
      await withKey(store, key_id, (apiKey) =>
        seedDemo({ ...options, apiKey, target: target.address() }),
      );
      keep({});
    },
  };
}

function readKept(dataDir: DataDir, renew: string): Kept | undefined {
  const text = dataDir.read(FILE);
  try {
    return text === undefined ? undefined : (JSON.parse(text) as Kept);
  } catch (cause) {
    throw new Error(`the demo's file is damaged: ${renew}`, { cause });
  }
}

async function hasCalls(store: Store, address: string): Promise<boolean> {
  const calls = await store.documents.listAll("call", "domain", "127.0.0.1");
  return calls.some(({ document }) => JSON.stringify(document).includes(`http://${address}/`));
}

/** The key is in force for as long as the work takes. */
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
    await work((issued as IssuedKey).api_key); // its id is new
  } finally {
    await revokeKey(store, "demo", key_id);
  }
}
