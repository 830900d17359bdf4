// What runs are to run, as it is stored now: calls, and workflows with their calls.
import { canRun, ownerOf } from "../model/access.ts";
import type { Workflow } from "../model/workflow.ts";
import type { PendingRun, StoredDocument } from "../store/records.ts";
import type { Store } from "../store/store.ts";

export interface StoredWorkflow {
  readonly id: string;
  readonly document: Workflow;
  /** The stored call, where the workflow's owner may run it. */
  readonly call: (id: string) => StoredDocument | undefined;
}

export interface Targets {
  readonly calls: ReadonlyMap<string, StoredDocument>;
  readonly workflows: ReadonlyMap<string, StoredWorkflow>;
}

export async function loadTargets(store: Store, runs: readonly PendingRun[]): Promise<Targets> {
  const { call = [], workflow = [] } = Object.groupBy(runs, ({ target_kind }) => target_kind);
  const found = await store.documents.getMany("workflow", targetIds(workflow));
  const calls = await store.documents.getMany("call", [
    ...new Set([
      ...targetIds(call),
      ...workflow.flatMap(({ call_ids }) => call_ids ?? []),
      ...found.flatMap(({ document }) => callIdsOf(document as Workflow)),
    ]),
  ]);
  const byId = new Map(calls.map((each) => [each.id, each]));
  const workflows = found.map((each) => storedWorkflow(each, byId));
  return {
    calls: byId,
    workflows: new Map(workflows.map((each) => [each.id, each])),
  };
}

const targetIds = (runs: readonly PendingRun[]): string[] => [
  ...new Set(runs.map(({ target_id }) => target_id)),
];

export const callIdsOf = ({ workflow }: Workflow): readonly string[] => workflow.call_ids;

function storedWorkflow(
  stored: StoredDocument,
  calls: ReadonlyMap<string, StoredDocument>,
): StoredWorkflow {
  const owner = ownerOf(stored);
  return {
    id: stored.id,
    document: stored.document as Workflow,
    call(id) {
      const call = calls.get(id);
      return call && canRun(owner, call) ? call : undefined;
    },
  };
}
