// The body of a response as it is kept beside its result: text that is not too long, or why there
// is none.
import { Type } from "typebox";
import type { Static } from "typebox";

/** A longer text is not kept. Bytes, decoded. */
export const MAX_CONTENT_BYTES = 32 * 1024;

const Text = Type.Union([Type.String(), Type.Null()]);

export const ContentSchema = Type.Object({
  /** As the server named it. */
  content_type: Text,
  /** The character encoding that the text was read in. */
  encoding: Text,
  /** Bytes, decoded. */
  size: Type.Integer({ minimum: 0 }),
  content: Text,
  /** Why `content` is null. */
  reason: Type.Union([Type.Enum(["binary", "too_large", "report_full"]), Type.Null()]),
});
export type Content = Static<typeof ContentSchema>;

export const withoutText = (content: Content, reason: NonNullable<Content["reason"]>): Content => ({
  ...content,
  encoding: null,
  content: null,
  reason,
});
