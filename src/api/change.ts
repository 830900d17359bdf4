// What a request changes: one transaction, audited, and carried out once however often the request
// is repeated.
import type { Principal } from "../model/access.ts";
import { invalid } from "../model/errors.ts";
import { show } from "../model/validate.ts";
import type { Store } from "../store/store.ts";
import { auditedStore, createAudit } from "./audited-store.ts";
import type { Audit } from "./audited-store.ts";
import { KEPT_FOR_MS } from "./idempotency.ts";
import type { Repeatable } from "./idempotency.ts";

export interface Changes {
  /**
   * At most once a request. Documents that `work` changes in its store are audited; what else it
   * changes, it tells `audit`. Its value is the request's answer: when the request was carried out
   * before, `work` is not called and that answer is returned.
   */
  change<T>(work: (store: Store, audit: Audit) => Promise<T>): Promise<T>;
  /** The change was taken back: the request, repeated, is carried out again. */
  forget(): Promise<void>;
}

export interface Caller {
  readonly principal: Principal;
  /** That the request comes from. */
  readonly address: string;
  readonly repeatable: Repeatable | undefined;
}

export function createChanges(store: Store, { principal, address, repeatable }: Caller): Changes {
  const { key_id: actor, owner } = principal;
  return {
    change: (work) =>
      store.transaction(async (within) => {
        const time = await within.now();
        const carryOut = () => {
          const by = { actor, owner, address, time };
          return work(auditedStore(within, by), createAudit(within, by));
        };
        return repeatable ? once(within, repeatable, time, carryOut) : carryOut();
      }),
    async forget() {
      if (repeatable) await store.answers.forget(repeatable.id);
    },
  };
}

async function once<T>(
  store: Store,
  { key, id, fingerprint }: Repeatable,
  now: number,
  carryOut: () => Promise<T>,
): Promise<T> {
  const kept = await store.answers.claim(id, now, now - KEPT_FOR_MS);
  if (!kept) {
    const answer = await carryOut();
    await store.answers.keep(id, { fingerprint, answer });
    return answer;
  }
  if (kept.fingerprint !== fingerprint)
    throw invalid(`Idempotency-Key: ${show(key)} was given before, with another body`);
  return kept.answer as T;
}
