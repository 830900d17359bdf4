// Creates many deployments, each of its own call, in a database that no process uses yet.
import { callResource } from "../../src/model/call.ts";
import { deploymentResource } from "../../src/model/deployment.ts";
import type { Frequency } from "../../src/model/slots.ts";
import { MINUTE_MS, SCHEDULER_LEASE, slotOf } from "../../src/model/slots.ts";
import { hashApiKey } from "../../src/runtime/api-key.ts";
import { newId } from "../../src/runtime/ids.ts";
import type { Store } from "../../src/store/store.ts";
import { API_KEY } from "./database.ts";
import type { BenchDatabase } from "./database.ts";

export const LOCATION = "local";
/** Owner of the first key, and of everything that the key may read. */
const OWNER = "owner";

/** When the newest deployment was made; starts an hour ago. */
let lastMade = Date.now() - 60 * MINUTE_MS;

/** Deployments whose first runs are due evenly within a number of whole seconds. */
export interface Group {
  readonly url: string;
  readonly count: number;
  /** In minutes. */
  readonly frequency: Frequency;
  /** Milliseconds since the epoch, at a whole second. */
  readonly firstDue: number;
  readonly seconds: number;
}

/**
 * Stores the groups as if they had existed for an hour and every slot before the first had been
 * opened. Returns the ids of each group's calls.
 */
export async function deploy(
  database: BenchDatabase,
  groups: readonly Group[],
): Promise<readonly (readonly string[])[]> {
  const store = await database.openStore();
  await ensureKey(store);
  const copy = await prepareCopies(database);
  const made: (readonly string[])[] = [];
  for (const group of groups) {
    let ids: readonly string[] = [];
    for (let second = 0; second < group.seconds; second += 1) {
      const before = Math.floor((group.count * second) / group.seconds);
      const count = Math.floor((group.count * (second + 1)) / group.seconds) - before;
      if (count > 0) ids = ids.concat(await deployAt(copy, store, group, second, count));
    }
    made.push(ids);
  }
  await openSlotsBefore(store, Math.min(...groups.map(({ firstDue }) => firstDue)));
  await store.close();
  return made;
}

/** Creates the owner's key: an owner without one has no runs. */
async function ensureKey(store: Store): Promise<void> {
  if ((await store.apiKeys.count()) > 0) return;
  const now = await store.now();
  const principal = { owner: OWNER, org: null, access_level: "OWNER" } as const;
  const key = {
    ...principal,
    name: null,
    key_id: "0-first-key",
    created: now,
    last_update: now,
    revoked: false,
  };
  await store.apiKeys.insert(key, hashApiKey(API_KEY));
}

async function deployAt(
  copy: Copy,
  store: Store,
  { url, frequency, firstDue }: Group,
  second: number,
  count: number,
): Promise<string[]> {
  const now = (lastMade += 1);
  const due = firstDue + second * 1000;
  const trigger = Math.floor(due / (frequency * MINUTE_MS)) * frequency * MINUTE_MS;
  const run_delay = (due - trigger) / 1000;
  // Ids of different milliseconds, so that the ids of their copies differ too.
  const [target_id, deployment_id] = [newId(now), newId((lastMade += 1))];
  const owned = { owner: OWNER, owner_org: null, org: false, community: false } as const;
  const call = callResource.create(
    { meta: { name: `call ${target_id}` }, request: { method: "get", url } },
    { id: target_id, owner: OWNER, now },
  );
  const deployment = deploymentResource.create(
    { deployment: { target_id, location_id: LOCATION, frequency, run_delay } },
    { id: deployment_id, owner: OWNER, now },
  );
  await store.documents.insert({
    ...owned,
    id: target_id,
    kind: "call",
    document: call,
    filters: callResource.filters(call),
  });
  await store.documents.insert({
    ...owned,
    id: deployment_id,
    kind: "deployment",
    document: deployment,
    filters: deploymentResource.filters(deployment),
  });
  await store.schedules.set({
    deployment_id,
    owner: OWNER,
    owner_org: null,
    target_id,
    target_kind: "call",
    location_id: LOCATION,
    frequency,
    run_delay,
    between_calls_delay: 0,
    active_from: trigger,
  });
  if (count > 1) await copy([target_id, deployment_id], count - 1);
  return Array.from({ length: count }, (_, n) => copyId(target_id, n));
}

const DIGITS = 6;

/** Returns the `n`th copy of an id: of the same length, and at the same place in an index. */
const copyId = (id: string, n: number): string =>
  n === 0 ? id : id.slice(0, -DIGITS) + String(n).padStart(DIGITS, "0");

type Copy = (ids: readonly string[], copies: number) => Promise<void>;

/** Copies the rows of these ids within the database: a million take seconds. */
async function prepareCopies(database: BenchDatabase): Promise<Copy> {
  const tables = [
    { table: "documents", key: "id", columns: await columnsOf(database, "documents") },
    { table: "schedules", key: "deployment_id", columns: await columnsOf(database, "schedules") },
  ];
  return async (ids, copies) => {
    for (const { table, key, columns } of tables) {
      const templates = `${key} in (${ids.map((id) => `'${id}'`).join(", ")})`;
      const rows = await database.query(`select * from ${table} where ${templates}`);
      const values = columns.map((column) =>
        renamed(
          column,
          ids.filter((id) => rows.some((row) => String(row[column]).includes(id))),
        ),
      );
      await database.query(`
        insert into ${table} (${columns.join(", ")})
        with recursive copy (n) as (select 1 union all select n + 1 from copy where n < ${copies})
        select ${values.join(", ")} from ${table}, copy
        where ${templates}`);
    }
  };
}

const renamed = (column: string, ids: readonly string[]): string =>
  ids.reduce(
    (sql, id) =>
      `replace(${sql}, '${id}', '${id.slice(0, -DIGITS)}' || substr('' || (1000000 + n), 2))`,
    column,
  );

export async function columnsOf(database: BenchDatabase, table: string): Promise<string[]> {
  const rows = await database.query(
    database.file === undefined
      ? `select column_name as name from information_schema.columns
         where table_name = '${table}' and is_generated = 'NEVER'`
      : `select name from pragma_table_info('${table}')`,
  );
  return rows.map(({ name }) => String(name));
}

/** Advances the cursor as if a scheduler had opened every slot before that of `due`. */
export async function openSlotsBefore(store: Store, due: number): Promise<void> {
  const lease = await store.leases.acquire(SCHEDULER_LEASE, "bench", await store.now(), 1000);
  if (!lease) throw new Error("another process holds the scheduler's lease");
  await store.leases.advance(lease, slotOf(due) - MINUTE_MS);
  await store.leases.release(lease);
}
