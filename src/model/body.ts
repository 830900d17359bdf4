// The bodies that create and update a resource: their schemas, which follow from the resource's,
// and how they are merged into a document.
import type { TArray, TObject, TSchema } from "typebox";
import { Ignored, mark, nullable } from "./fields.ts";
import { isObject } from "./json.ts";
import type { Json } from "./json.ts";
import { hasSecrets, isHidden } from "./secrets.ts";
import { Type } from "./type.ts";

interface Node {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly required?: readonly string[];
  readonly items?: Node;
  readonly anyOf?: readonly Node[];
  readonly enum?: readonly unknown[];
  readonly readOnly?: boolean;
  readonly internal?: boolean;
  readonly requiredAlways?: boolean;
  readonly namedByUser?: boolean;
  readonly "~optional"?: boolean;
  readonly default?: unknown;
}

type Verb = "create" | "update";

/**
 * Accepts any value for the properties that the service sets, but no `id`. Updates require only
 * the properties marked `requiredAlways`.
 */
export const bodySchema = (schema: TObject, verb: Verb): TSchema =>
  objectBody(schema, verb, hasSecrets(schema) ? { unreadable: Ignored } : {});

function objectBody(schema: TObject, verb: Verb, marker: Record<string, TSchema> = {}): TSchema {
  const properties: Record<string, TSchema> = { ...marker };
  for (const [name, child] of Object.entries(schema.properties)) {
    if (name === "id" || (child as Node).internal) continue;
    const inner = innerSchema(child, verb);
    properties[name] = isRequired(inner, verb) ? inner : Type.Optional(hideable(inner, verb));
  }
  const {
    type: _type,
    properties: _properties,
    required: _required,
    ...options
  } = withRoomToRemove(schema, verb) as TObject & { required: string[] };
  return Type.Object(properties, options);
}

function innerSchema(child: TSchema, verb: Verb): TSchema {
  const { readOnly, namedByUser, items } = child as Partial<TArray> & Node;
  if (readOnly) return Ignored;
  if (hasProperties(child)) return objectBody(child as TObject, verb);
  if (namedByUser) return withRemovals(child, verb);
  // Updates replace arrays: their items are new.
  return items && hasProperties(items)
    ? mark(child, { items: innerSchema(items, "create") })
    : child;
}

/** A map in which null removes a name. */
function withRemovals(map: TSchema, verb: Verb): TSchema {
  const { patternProperties = {} } = map as { patternProperties?: Record<string, TSchema> };
  const values = Object.entries(patternProperties).map(([pattern, value]) => [
    pattern,
    nullable(value),
  ]);
  return mark(withRoomToRemove(map, verb), { patternProperties: Object.fromEntries(values) });
}

/**
 * Doubles the limit for updates, which may remove as many names as they add. The merged document
 * is checked against the limit itself.
 */
function withRoomToRemove(schema: TSchema, verb: Verb): TSchema {
  const { maxProperties } = schema as { maxProperties?: number };
  if (verb === "create" || maxProperties === undefined) return schema;
  return mark(schema, { maxProperties: 2 * maxProperties });
}

/** A client may create an object from an answer, where null for a hidden value means absent. */
const hideable = (schema: TSchema, verb: Verb): TSchema =>
  verb === "create" && isHidden(schema) && !takesNull(schema) ? nullable(schema) : schema;

const takesNull = ({ type, anyOf, enum: values }: Node): boolean =>
  anyOf ? anyOf.some(takesNull) : type === "null" || (type === undefined && values === undefined);

function isRequired(node: Node, verb: Verb): boolean {
  if (node.readOnly || node["~optional"] || "default" in node) return false;
  if (node.properties !== undefined) return (node.required ?? []).length > 0;
  return verb === "create" || node.requiredAlways === true;
}

const hasProperties = (schema: TSchema): boolean => (schema as Node).properties !== undefined;

/** Returns a value of a create body with its defaults; undefined if there is neither. */
export function withDefaults(schema: Node, value: unknown): unknown {
  const { default: preset, properties } = schema;
  const isGiven = value !== undefined && (value !== null || takesNull(schema));
  if (!isGiven && preset !== undefined)
    return Array.isArray(preset) ? [...preset] : isObject(preset) ? { ...preset } : preset;
  if (!properties) return isGiven ? withItemDefaults(schema, value) : undefined;
  const given = (value ?? {}) as Json;
  const names = new Set([...Object.keys(given), ...Object.keys(properties)]);
  return onlyGiven(
    [...names].map((name) => {
      const child = childOf(schema, name);
      const inner = Object.hasOwn(given, name) ? given[name] : undefined;
      return [name, child ? withDefaults(child, inner) : inner];
    }),
  );
}

/** Fills in defaults only in the items of arrays, which updates replace. */
export function withItemDefaults(schema: Node, value: unknown): unknown {
  const { items, properties } = schema;
  if (items && Array.isArray(value)) return value.map((item) => withDefaults(items, item));
  if (!properties || !isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      const child = childOf(schema, name);
      return [name, child ? withItemDefaults(child, inner) : inner];
    }),
  );
}

/** Merges objects deeply; replaces anything else. */
export function merge(document: Json, change: Json): Json {
  const merged: Json = { ...document };
  for (const [name, value] of Object.entries(change)) {
    const before = merged[name];
    merged[name] = isObject(before) && isObject(value) ? merge(before, value) : value;
  }
  return merged;
}

/** Drops read-only properties: clients send back the whole object that they read. */
export const withoutReadOnly = (schema: Node, body: Json): Json =>
  onlyGiven(
    Object.entries(body).map(([name, value]) => {
      const child = childOf(schema, name);
      if (child?.readOnly) return [name, undefined];
      return [name, child && isObject(value) ? withoutReadOnly(child, value) : value];
    }),
  );

/** Drops the names that the user chose and set to null. */
export const withoutRemoved = (schema: Node, document: Json): Json =>
  onlyGiven(
    Object.entries(document).map(([name, value]) => {
      const child = childOf(schema, name);
      if (schema.namedByUser && !child && value === null) return [name, undefined];
      return [name, child && isObject(value) ? withoutRemoved(child, value) : value];
    }),
  );

const childOf = ({ properties = {} }: Node, name: string): Node | undefined =>
  Object.hasOwn(properties, name) ? properties[name] : undefined;

const onlyGiven = (entries: readonly (readonly [name: string, value: unknown])[]): Json =>
  Object.fromEntries(entries.filter(([, value]) => value !== undefined));
