// Access to a call's results and statistics, by its access flags.
import { canRead } from "../model/access.ts";
import type { Principal } from "../model/access.ts";
import type { Call } from "../model/call.ts";
import { callIdsOf } from "../model/report.ts";
import type { Report } from "../model/report.ts";
import type { StoredDocument } from "../store/records.ts";
import type { Store } from "../store/store.ts";

type Part = "results" | "stats";

/** Resolves to the call if `principal` may read this part of it. */
export async function callSharing(
  part: Part,
  store: Store,
  principal: Principal,
  callId: string,
): Promise<Call | undefined> {
  const stored = await store.documents.get("call", callId);
  return stored && isOpen(part, principal, stored) ? (stored.document as Call) : undefined;
}

/** Resolves to the ids of the calls of which `principal` may read this part. */
export async function callsSharing(
  part: Part,
  store: Store,
  principal: Principal,
  callIds: Iterable<string>,
): Promise<ReadonlySet<string>> {
  const found = await store.documents.getMany("call", [...new Set(callIds)]);
  return new Set(found.filter((stored) => isOpen(part, principal, stored)).map(({ id }) => id));
}

/** Documents in memory at a time. */
const PIECE = 500;

/** Resolves to the names, by id, of the report's calls of which `principal` may read this part. */
export async function callNames(
  part: Part,
  store: Store,
  principal: Principal,
  report: Report,
): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>();
  const ids = callIdsOf(report);
  for (let at = 0; at < ids.length; at += PIECE) {
    const found = await store.documents.getMany("call", ids.slice(at, at + PIECE));
    for (const stored of found)
      if (isOpen(part, principal, stored))
        names.set(stored.id, (stored.document as Call).meta.name);
  }
  return names;
}

const isOpen = (part: Part, principal: Principal, stored: StoredDocument): boolean =>
  canRead(principal, {
    ...stored,
    community: (stored.document as Call).access[part],
  });
