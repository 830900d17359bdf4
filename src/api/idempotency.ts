// Repeated requests: the header Idempotency-Key, and what makes two requests the same.
import { createHash } from "node:crypto";
import type { Principal } from "../model/access.ts";
import { invalid } from "../model/errors.ts";
import { show } from "../model/validate.ts";

/** How long an answer is kept for whoever repeats the request. */
export const KEPT_FOR_MS = 24 * 3_600_000;

/** The others do no more when they are repeated. */
export const isRepeatable = (method: string): boolean => method === "POST" || method === "PUT";

export interface Repeatable {
  /** As the caller gave it. */
  readonly key: string;
  /** Of the caller's key together with the caller and what is asked for. */
  readonly id: string;
  /** Of the body. */
  readonly fingerprint: string;
}

export interface Asked {
  readonly method: string;
  readonly operationId: string;
  readonly params: Readonly<Record<string, string>>;
  readonly principal: Principal;
  readonly body: unknown;
}

/** Undefined without the header. Throws `invalid`. */
export function toRepeatable(
  header: string | string[] | undefined,
  { method, operationId, params, principal, body }: Asked,
): Repeatable | undefined {
  if (header === undefined) return undefined;
  const key = String(header);
  if (!/^[\x21-\x7e]{1,255}$/.test(key))
    throw invalid(`Idempotency-Key: ${show(key)} is not 1 to 255 visible ASCII characters`);
  const asked = [principal.key_id, method, operationId, sorted(params), key];
  return { key, id: hash(asked), fingerprint: hash(sorted(body)) };
}

const hash = (value: unknown): string =>
  createHash("sha256").update(JSON.stringify(value)).digest("hex");

/** The order of names tells no two objects apart. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, inner]) => [name, sorted(inner)]),
  );
}
