// Access to a call's results and statistics, by its access flags.
import { setImmediate as nextTurn } from "node:timers/promises";
import { canRead } from "../model/access.ts";
import type { Principal } from "../model/access.ts";
import type { Call } from "../model/call.ts";
import { chunksOf } from "../model/chunks.ts";
import { notFound } from "../model/errors.ts";
import { callIdsOf } from "../model/report.ts";
import type { Report } from "../model/report.ts";
import type { StoredDocument } from "../store/records.ts";
import type { Store } from "../store/store.ts";

type Part = "results" | "stats";

/** Resolves to the call; rejects with `not_found` unless `principal` may read this part of it. */
export async function callSharing(
  part: Part,
  store: Store,
  principal: Principal,
  callId: string,
  missing = "API Call",
): Promise<Call> {
  const stored = await store.documents.get("call", callId);
  if (!stored || !isOpen(part, principal, stored)) throw notFound(missing);
  return stored.document as Call;
}

/** Resolves to the ids of the calls of which `principal` may read this part. */
export async function callsSharing(
  part: Part,
  store: Store,
  principal: Principal,
  callIds: Iterable<string>,
): Promise<ReadonlySet<string>> {
  const open = new Set<string>();
  for await (const { id } of openCalls(part, store, principal, [...new Set(callIds)])) open.add(id);
  return open;
}

/** Resolves to the names, by id, of the report's calls whose statistics `principal` may read. */
export async function callNames(
  store: Store,
  principal: Principal,
  report: Report,
): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>();
  for await (const { id, document } of openCalls("stats", store, principal, callIdsOf(report)))
    names.set(id, (document as Call).meta.name);
  return names;
}

/** Calls in memory at a time: they may be large, and other requests wait while they are read. */
const CALLS_AT_ONCE = 50;

async function* openCalls(
  part: Part,
  { documents }: Store,
  principal: Principal,
  ids: readonly string[],
): AsyncGenerator<StoredDocument> {
  for (const some of chunksOf(ids, CALLS_AT_ONCE)) {
    const found = await documents.getMany("call", some);
    yield* [...found.values()].filter((stored) => isOpen(part, principal, stored));
    await nextTurn();
  }
}

const isOpen = (part: Part, principal: Principal, stored: StoredDocument): boolean =>
  canRead(principal, {
    ...stored,
    community: (stored.document as Call).access[part],
  });
