// Objects whose secrets cannot be decrypted: shown without them and marked, and not changed.
import { Type } from "typebox";
import type { TSchema } from "typebox";
import { mark, nullable } from "../model/fields.ts";
import { unreadable } from "../model/errors.ts";
import { hasSecrets } from "../model/secrets.ts";
import { createValidator } from "../model/validate.ts";
import type { StoredDocument } from "../store/ports/document-store.ts";

const MARK = mark(Type.Boolean(), {
  description:
    "true where the secrets of the object cannot be decrypted, and are null here; otherwise left out",
});

/** The schema of answers, which may be such objects: for readers, nothing is checked against it. */
export function answerSchema(schema: TSchema): TSchema {
  if (!hasSecrets(schema)) return schema;
  const { properties, ...rest } = withNulls(schema) as { properties: object };
  return { ...rest, properties: { ...properties, unreadable: MARK } };
}

/** Null may stand in for every secret. */
function withNulls(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withNulls);
  if (typeof node !== "object" || node === null) return node;
  if ("secret" in node && node.secret === true)
    return createValidator(node).accepts(null) ? node : nullable(node);
  return Object.fromEntries(Object.entries(node).map(([name, inner]) => [name, withNulls(inner)]));
}

/** `shown`: what a reader is shown of the stored document. */
export const marked = (shown: unknown, stored: StoredDocument): unknown =>
  stored.unreadable ? { ...(shown as object), unreadable: true } : shown;

/** Before a change: what is null in it would take the place of what is only unreadable. */
export function assertReadable(what: string, { unreadable: cause }: StoredDocument): void {
  if (cause) throw unreadable(what, { cause });
}
