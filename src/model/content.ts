// The response body kept with a result: text of limited size, or the reason why it is absent.
import type { Static } from "typebox";
import { nullable } from "./fields.ts";
import { Type } from "./type.ts";

/** In decoded bytes; longer text is not kept. */
export const MAX_CONTENT_BYTES = 32 * 1024;

const text = (example: string) => nullable(Type.String({ examples: [example] }));

export const ContentSchema = Type.Object({
  /** As the server sent it. */
  content_type: text("application/json"),
  /** The character encoding of the text. */
  encoding: text("utf-8"),
  /** Decoded bytes. */
  size: Type.Integer({ minimum: 0, examples: [12] }),
  content: text('{"ok": true}'),
  /** Why `content` is null. */
  reason: nullable(Type.Enum(["binary", "too_large", "report_full"]), {
    examples: [null],
  }),
});
export type Content = Static<typeof ContentSchema>;

export const withoutText = (content: Content, reason: NonNullable<Content["reason"]>): Content => ({
  ...content,
  encoding: null,
  content: null,
  reason,
});
