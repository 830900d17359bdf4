// Objects whose secrets cannot be decrypted: shown without them and marked, and not changed.
import { Type } from "typebox";
import { mark } from "../model/fields.ts";
import { unreadable } from "../model/errors.ts";
import type { StoredDocument } from "../store/ports/document-store.ts";

/** A property of such objects alone. */
export const UNREADABLE = {
  unreadable: Type.Optional(
    mark(Type.Boolean(), {
      description:
        "true where the secrets of the object cannot be decrypted, and are null here; otherwise left out",
    }),
  ),
} as const;

/** `shown`: what a reader is shown of the stored document. */
export const marked = (shown: unknown, stored: StoredDocument): unknown =>
  stored.unreadable ? { ...(shown as object), unreadable: true } : shown;

/** Before a change: what is null in it would take the place of what is only unreadable. */
export function assertReadable(
  label: string,
  { unreadable: cause }: StoredDocument,
): void {
  if (cause) throw unreadable(`this ${label}`, { cause });
}
