// What a call's access flags open beside the call itself: its results and its statistics.
import { canRead } from "../model/access.ts";
import type { Principal } from "../model/access.ts";
import type { Call } from "../model/call.ts";
import type { Store } from "../store/store.ts";

/** The call, when `principal` may read this part of it. */
export async function callSharing(
  part: "results" | "stats",
  store: Store,
  principal: Principal,
  callId: string,
): Promise<Call | undefined> {
  const stored = await store.documents.get("call", callId);
  if (!stored) return undefined;
  const call = stored.document as Call;
  const shared = { ...stored, community: call.access[part] };
  return canRead(principal, shared) ? call : undefined;
}
