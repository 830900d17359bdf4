// Limits the size of an owner's waiting runs: agents hold them in memory, and the bus has limited
// room. No owner's runs may displace those of others.
import { identityOf } from "../model/access.ts";
import type { Authorization } from "../model/authorization.ts";
import type { Tick } from "../model/tick.ts";
import type { Workflow } from "../model/workflow.ts";
import type { PendingRun } from "../store/records.ts";
import type { Store } from "../store/store.ts";

/** In bytes. This much of each call, of its credentials, and of a run's values does not count. */
const FREE = 4 * 1024;

const PARTS = ["calls", "credentials", "values"] as const;
type PartOfRun = (typeof PARTS)[number];

interface Part {
  readonly owner: string;
  readonly bytes: number;
  /** Epoch milliseconds. */
  readonly until: number;
}

export type WaitingRuns = ReturnType<typeof createWaitingRuns>;

/** `maxMiB`: the limit for each owner, of the runs that this process dispatches. */
export function createWaitingRuns(maxMiB: number) {
  const max = maxMiB * 1024 * 1024;
  const waiting = new Map<string, Part>();
  const bytesOf = new Map<string, number>();

  const idOf = (run: PendingRun, part: PartOfRun): string => `${run.result_id} ${part}`;
  const add = (owner: string, bytes: number): void =>
    void bytesOf.set(owner, (bytesOf.get(owner) ?? 0) + bytes);
  function remove(id: string, { owner, bytes }: Part): void {
    waiting.delete(id);
    add(owner, -bytes);
    if (bytesOf.get(owner) === 0) bytesOf.delete(owner);
  }
  function removeBefore(now: number): void {
    for (const [id, part] of waiting) if (part.until < now) remove(id, part);
  }
  /** False if its owner has no room for this part of the run; it waits until `latest_start`. */
  function admits(run: PendingRun, part: PartOfRun, bytes: number): boolean {
    const id = idOf(run, part);
    if (bytes <= 0 || waiting.has(id)) return true;
    const owner = identityOf(run);
    if ((bytesOf.get(owner) ?? 0) + bytes > max) return false;
    add(owner, bytes);
    waiting.set(id, { owner, bytes, until: run.latest_start });
    return true;
  }

  return {
    /** Why a run is refused. */
    refusal: `the owner's runs that wait for an agent exceed ${maxMiB} MiB (SONDE_MAX_WAITING_MIB), not counting the first ${FREE / 1024} KiB of each call: shorten the calls, or spread their runs`,
    /**
     * Resolves to the runs for whose calls their owner has no room, without reading the calls. The
     * others wait from now on; a run that is published again counts once.
     */
    async refused(
      store: Store,
      runs: readonly PendingRun[],
      now: number,
    ): Promise<Set<PendingRun>> {
      const callsOf = await readCallIds(store, runs);
      const sizes = await store.documents.sizes([...new Set(runs.flatMap(callsOf))], FREE);
      removeBefore(now);
      const bytesIn = (run: PendingRun): number =>
        callsOf(run).reduce((sum, id) => sum + (sizes.get(id) ?? FREE) - FREE, 0);
      return new Set(runs.filter((run) => !admits(run, "calls", bytesIn(run))));
    },
    /** False if the run's owner has no room for the credentials of its calls. */
    admitsCredentials: (run: PendingRun, { calls }: Tick): boolean =>
      admits(run, "credentials", bytesOfCredentials(calls)),
    /** False if the run's owner has no room for the environment values that its calls refer to. */
    admitsValues: (run: PendingRun, bytes: number): boolean => admits(run, "values", bytes - FREE),
    /** Call it for an admitted run that no agent gets after all. */
    forget(run: PendingRun): void {
      for (const id of PARTS.map((part) => idOf(run, part))) {
        const part = waiting.get(id);
        if (part) remove(id, part);
      }
    },
  };
}

const bytesOfCredentials = (calls: Tick["calls"]): number =>
  calls.reduce(
    (sum, { authorization }) => sum + (authorization ? bytesBeyond(authorization) : 0),
    0,
  );

/** Known sizes: the ticks of a call share its credentials. */
const SIZES = new WeakMap<Authorization, number>();

function bytesBeyond(authorization: Authorization): number {
  const size = SIZES.get(authorization) ?? Buffer.byteLength(JSON.stringify(authorization));
  SIZES.set(authorization, size);
  return Math.max(0, size - FREE);
}

async function readCallIds(store: Store, runs: readonly PendingRun[]) {
  const unplanned = runs.filter((run) => run.target_kind === "workflow" && !run.call_ids);
  const workflowIds = unplanned.map(({ target_id }) => target_id);
  const workflows = await store.documents.getMany("workflow", workflowIds);
  return ({ target_kind, target_id, call_ids }: PendingRun): readonly string[] => {
    const workflow = workflows.get(target_id)?.document as Workflow | undefined;
    return target_kind === "call" ? [target_id] : (call_ids ?? workflow?.workflow.call_ids ?? []);
  };
}
