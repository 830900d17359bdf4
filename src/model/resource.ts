// Resources: one schema each, from which the bodies of create and update, the defaults and the
// answer follow.
import type { Static, TArray, TObject, TSchema } from "typebox";
import { mark } from "./fields.ts";
import { formatInstant } from "./instant.ts";
import { Type } from "./type.ts";
import { createValidator, summarizeFaults } from "./validate.ts";
import type { Validator } from "./validate.ts";
import { invalid } from "./errors.ts";

export type ResourceKind =
  "call" | "deployment" | "workflow" | "auth_setting" | "token" | "report" | "variable";

/** Columns beside the document, for the filters of lists. */
export type FilterField = "domain" | "auth_id" | "token_id" | "target_id" | "workspace" | "name";

export interface Sharing {
  /** Readable by the members of the owner's organization. */
  readonly org: boolean;
  /** Readable by every authenticated caller. */
  readonly community: boolean;
}

export interface ResourceDefinition<S extends TObject> {
  readonly kind: ResourceKind;
  /** Its name in error messages. */
  readonly label: string;
  /** The object as stored and answered; `readOnly` and `default` determine its bodies. */
  readonly schema: S;
  /** Sets the fields that follow from others. */
  readonly derive: (document: Static<S>) => Static<S>;
  readonly sharing: (document: Static<S>) => Sharing;
  readonly filters: (document: Static<S>) => Partial<Record<FilterField, string | null>>;
  /** The calls that it names, for resources that may name several. Lists filter by them. */
  readonly callIds?: (document: Static<S>) => readonly string[];
}

export interface Resource<S extends TObject> extends ResourceDefinition<S> {
  readonly createBody: TSchema;
  readonly updateBody: TSchema;
  /** A document from a create body; throws `invalid`. */
  create(body: unknown, identity: Identity): Static<S>;
  /** Merges a partial body into the document; throws `invalid`. Arrays are replaced. */
  update(document: Static<S>, body: unknown, now: number): Static<S>;
}

export interface Identity {
  readonly id: string;
  readonly owner: string;
  /** Epoch milliseconds. */
  readonly now: number;
}

type Json = Record<string, unknown>;

interface Node {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly required?: readonly string[];
  readonly items?: Node;
  readonly readOnly?: boolean;
  readonly requiredAlways?: boolean;
  readonly default?: unknown;
}

export function defineResource<S extends TObject>(definition: ResourceDefinition<S>): Resource<S> {
  const { schema } = definition;
  const createBody = bodySchema(schema, "create");
  const updateBody = bodySchema(schema, "update");
  const validators = {
    create: createValidator(createBody),
    update: createValidator(updateBody),
    whole: createValidator(schema as TObject),
  };
  const stamp = (document: Json, meta: Json): Json => ({
    ...document,
    meta: { ...(document["meta"] as Json), ...meta },
  });
  return {
    ...definition,
    createBody,
    updateBody,
    create(body, { id, owner, now }) {
      const given = checked(validators.create, body);
      const at = formatInstant(now);
      const filled = stamp(
        { id, ...(withDefaults(schema, given) as Json) },
        { owner, created: at, last_update: at },
      );
      return definition.derive(filled as Static<S>);
    },
    update(document, body, now) {
      const given = checked(validators.update, withoutUnchanged(schema, body, document));
      const filled = withItemDefaults(schema, given) as Json;
      const merged = stamp(merge(document, filled), {
        last_update: formatInstant(now),
      });
      // Several small changes may add up to a document beyond the limits.
      checked(validators.whole, merged);
      return definition.derive(merged as Static<S>);
    },
  };
}

function checked(validator: Validator<unknown>, body: unknown): Json {
  const faults = validator.faults(body);
  if (faults.length > 0) throw invalid(summarizeFaults(faults));
  return body as Json;
}

/** The schema of a body: no read-only properties; in updates only `requiredAlways` is required. */
function bodySchema(schema: TObject, verb: "create" | "update"): TSchema {
  const properties: Record<string, TSchema> = {};
  for (const [name, child] of Object.entries(schema.properties)) {
    if ((child as Node).readOnly) continue;
    const inner = innerSchema(child, verb);
    properties[name] = isRequired(inner, verb) ? inner : Type.Optional(inner);
  }
  const {
    type: _type,
    properties: _properties,
    required: _required,
    ...options
  } = schema as TObject & { required: string[] };
  return Type.Object(properties, options);
}

function innerSchema(child: TSchema, verb: "create" | "update"): TSchema {
  if (isObject(child)) return bodySchema(child as TObject, verb);
  const { items } = child as Partial<TArray>;
  // Updates replace arrays: their items are new.
  return items && isObject(items) ? mark(child, { items: innerSchema(items, "create") }) : child;
}

function isRequired(node: Node, verb: "create" | "update"): boolean {
  if ("default" in node) return false;
  if (node.properties !== undefined) return (node.required ?? []).length > 0;
  return verb === "create" || node.requiredAlways === true;
}

const isObject = (schema: TSchema): boolean => (schema as Node).properties !== undefined;

function withDefaults(schema: Node, value: unknown): unknown {
  const { default: preset } = schema;
  if (value === undefined && preset !== undefined)
    return typeof preset === "object" ? structuredClone(preset) : preset;
  if (!schema.properties) return withItemDefaults(schema, value);
  const given = (value ?? {}) as Json;
  const filled: Json = { ...given };
  for (const [name, child] of Object.entries(schema.properties)) {
    const inner = withDefaults(child, Object.hasOwn(given, name) ? given[name] : undefined);
    if (inner !== undefined) filled[name] = inner;
  }
  return filled;
}

/** Fills in defaults only in the items of arrays, which updates replace. */
function withItemDefaults(schema: Node, value: unknown): unknown {
  const { items, properties } = schema;
  if (items && Array.isArray(value)) return value.map((item) => withDefaults(items, item));
  if (!properties || !isPlain(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      Object.hasOwn(properties, name) ? withItemDefaults(properties[name] as Node, inner) : inner,
    ]),
  );
}

/** Merges objects deeply; replaces anything else. */
function merge(document: Json, change: Json): Json {
  const merged: Json = { ...document };
  for (const [name, value] of Object.entries(change)) {
    const before = merged[name];
    merged[name] = isPlain(before) && isPlain(value) ? merge(before, value) : value;
  }
  return merged;
}

/**
 * Drops read-only properties with their stored values: clients send back the whole object they
 * read. Any other value is refused like an unknown property, and `id` always.
 */
function withoutUnchanged(schema: Node, body: unknown, document: unknown, depth = 0): unknown {
  if (!isPlain(body) || !isPlain(document) || !schema.properties) return body;
  const kept: Json = {};
  for (const [name, value] of Object.entries(body)) {
    const child = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
    const isId = depth === 0 && name === "id";
    if (child?.readOnly && !isId && value === document[name]) continue;
    kept[name] = child ? withoutUnchanged(child, value, document[name], depth + 1) : value;
  }
  return kept;
}

const isPlain = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);
