// Entity tags (RFC 9110 section 8.8.3): they change when the object does, so that an update can
// insist on what it read.
import { createHash } from "node:crypto";
import { AppError } from "../../model/errors.ts";

export const entityTag = (document: unknown): string =>
  `"${createHash("sha256").update(JSON.stringify(document)).digest("base64url").slice(0, 22)}"`;

/**
 * Throws `precondition_failed` unless `If-Match` is absent, `*`, or names the document as it is.
 */
export function assertMatches(ifMatch: string | undefined, document: unknown): void {
  if (ifMatch === undefined || ifMatch.trim() === "*") return;
  const tags = ifMatch.split(",").map((tag) => tag.trim());
  if (!tags.includes(entityTag(document)))
    throw new AppError(
      "precondition_failed",
      "The object was changed since it was read (If-Match names another version)",
    );
}
