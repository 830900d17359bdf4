// Repeated requests: the header Idempotency-Key, and the answers kept for it.
import { hash } from "node:crypto";
import type { Principal } from "../model/access.ts";
import { invalid } from "../model/errors.ts";
import { DAY_MS } from "../model/periods.ts";
import { show } from "../model/validate.ts";
import { createCron } from "../runtime/cron.ts";
import type { Service } from "../runtime/lifecycle.ts";
import type { Logger } from "../runtime/logger.ts";
import type { Store } from "../store/store.ts";

const KEPT_FOR_MS = DAY_MS;
const HOURLY = "23 * * * *";

/** The other methods are idempotent by themselves. */
export const isRepeatable = (method: string): boolean => method === "POST" || method === "PUT";

export interface Repeatable {
  /** As the caller gave it. */
  readonly key: string;
  /** Hash of the key, the caller and the operation. */
  readonly id: string;
  /** Hash of the body. */
  readonly fingerprint: string;
}

export interface Asked {
  readonly method: string;
  readonly operationId: string;
  readonly params: Readonly<Record<string, string>>;
  readonly principal: Principal;
  readonly body: unknown;
}

/** Throws `invalid`. */
export function toRepeatable(
  key: string,
  { method, operationId, params, principal, body }: Asked,
): Repeatable {
  if (!/^[\x21-\x7e]{1,255}$/.test(key))
    throw invalid(`Idempotency-Key: ${show(key)} is not 1 to 255 visible ASCII characters`);
  const asked = [principal.key_id, method, operationId, sorted(params), key];
  return { key, id: hashOf(asked), fingerprint: hashOf(sorted(body)) };
}

const hashOf = (value: unknown): string => hash("sha256", JSON.stringify(value));

/** Sorts the names in objects: their order makes no difference. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, inner]) => [name, sorted(inner)]),
  );
}

/**
 * Resolves to the kept answer; without one, to that of `work`, and keeps it. `keptBytes` is how
 * much more is kept now. Call it in the transaction of the change.
 */
export async function once<T>(
  store: Store,
  { key, id, fingerprint }: Repeatable,
  now: number,
  work: () => Promise<T>,
): Promise<{ readonly answer: T; readonly keptBytes: number }> {
  const kept = await store.answers.claim(id, now, now - KEPT_FOR_MS);
  if (!kept) {
    const answer = await work();
    return { answer, keptBytes: await store.answers.keep(id, { fingerprint, answer }) };
  }
  if (kept.fingerprint !== fingerprint)
    throw invalid(`Idempotency-Key: ${show(key)} was used with another body`);
  return { answer: kept.answer as T, keptBytes: 0 };
}

export const forget = (store: Store, { id }: Repeatable): Promise<void> => store.answers.forget(id);

/** Deletes expired answers, hourly. */
export const createAnswerPruning = ({
  store,
  log,
}: {
  readonly store: Store;
  readonly log: Logger;
}): Service =>
  createCron({
    name: "answer pruning",
    expression: HOURLY,
    log,
    work: async () => store.answers.prune((await store.now()) - KEPT_FOR_MS),
  });
