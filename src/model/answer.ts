// Derives answers and their schema from stored documents, by the marks in the document's schema.
import type { TSchema, TSchemaOptions } from "typebox";
import { readsSecrets } from "./access.ts";
import type { Principal } from "./access.ts";
import { mark, nullable } from "./fields.ts";
import { hasSecrets, hideSecrets, isHidden } from "./secrets.ts";
import { Type } from "./type.ts";
import { createValidator } from "./validate.ts";

const MARK = mark(Type.Boolean(), {
  description:
    "true if the object's secrets cannot be decrypted and are null here; otherwise absent",
  examples: [false],
});

const HIDDEN = "null for a key of level VIEWER";

/** Returns the document's schema, with null allowed wherever some readers may not see a value. */
export function answerSchema(schema: TSchema): TSchema {
  if (!hasSecrets(schema)) return schema;
  const { properties, required = [], ...rest } = withNulls(schema) as Shape;
  const shown = withoutInternal(schema, properties);
  const always = required.filter((name) => Object.hasOwn(shown, name));
  return { ...rest, required: always, properties: { ...shown, unreadable: MARK } };
}

interface Shape {
  readonly required?: readonly string[];
  readonly properties: Readonly<Record<string, { readonly internal?: boolean }>>;
}

/** Omits internal properties. `of` has the names of the schema's properties. */
function withoutInternal(schema: TSchema, of: object): object {
  const { properties } = schema as Shape;
  return Object.fromEntries(
    Object.entries(of).filter(
      ([name]) => !(Object.hasOwn(properties, name) && properties[name]?.internal),
    ),
  );
}

function withNulls(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withNulls);
  if (typeof node !== "object" || node === null) return node;
  if (isHidden(node)) {
    const description = [(node as TSchemaOptions).description ?? [], HIDDEN].flat().join("; ");
    return mark(createValidator(node).accepts(null) ? node : nullable(node), { description });
  }
  return Object.fromEntries(Object.entries(node).map(([name, inner]) => [name, withNulls(inner)]));
}

/**
 * Returns the stored document, or the part of it that is `open` to the reader, as answers show it:
 * without secrets for a key that may not read them, and marked if it is unreadable.
 */
export function toAnswer(
  schema: TSchema,
  reader: Principal,
  stored: { readonly document: unknown; readonly unreadable?: Error },
  open: unknown = stored.document,
): unknown {
  if (!hasSecrets(schema)) return open;
  const seen = readsSecrets(reader) ? open : hideSecrets(schema, open);
  const answer = withoutInternal(schema, seen as object);
  return stored.unreadable ? { ...answer, unreadable: true } : answer;
}
