// Resources: each has one schema, from which the bodies of create and update, the defaults and the
// answer follow.
import type { Static, TObject, TSchema } from "typebox";
import {
  bodySchema,
  merge,
  withDefaults,
  withItemDefaults,
  withoutReadOnly,
  withoutRemoved,
} from "./body.ts";
import { formatInstant } from "./instant.ts";
import type { Json } from "./json.ts";
import { createValidator, summarizeFaults } from "./validate.ts";
import { invalid } from "./errors.ts";

export type ResourceKind =
  "call" | "deployment" | "workflow" | "auth_setting" | "token" | "report" | "variable";

/** Columns stored beside the document, by which lists are filtered. */
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
  /** Sets the fields that are derived from others. */
  readonly derive: (document: Static<S>) => Static<S>;
  readonly sharing: (document: Static<S>) => Sharing;
  readonly filters: (document: Static<S>) => Partial<Record<FilterField, string | null>>;
  /** The calls that it names, for resources that may name several. Lists filter by them. */
  readonly callIds?: (document: Static<S>) => readonly string[];
}

export interface Resource<S extends TObject> extends ResourceDefinition<S> {
  readonly createBody: TSchema;
  readonly updateBody: TSchema;
  /** Makes a document from a create body. Ignores read-only properties; throws `invalid`. */
  create(body: unknown, identity: Identity): Static<S>;
  /** Merges a partial body into the document, in the same way. Arrays are replaced. */
  update(document: Static<S>, body: unknown, now: number): Static<S>;
}

export interface Identity {
  readonly id: string;
  readonly owner: string;
  /** Epoch milliseconds. */
  readonly now: number;
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
      const given = withoutReadOnly(createBody, validators.create.parse(body) as Json);
      const at = formatInstant(now);
      const filled = stamp(
        { id, ...withoutRemoved(schema, withDefaults(schema, given) as Json) },
        { owner, created: at, last_update: at },
      );
      return definition.derive(filled as Static<S>);
    },
    update(document, body, now) {
      const given = withoutReadOnly(updateBody, validators.update.parse(body) as Json);
      const filled = withItemDefaults(schema, given) as Json;
      const merged = stamp(withoutRemoved(schema, merge(document, filled)), {
        last_update: formatInstant(now),
      });
      // Several small changes may add up to a document beyond the limits.
      const faults = validators.whole.faults(merged);
      const old = faults.length > 0 ? validators.whole.faults(document) : [];
      const added = faults.filter((fault) => !old.includes(fault));
      if (added.length > 0) throw invalid(summarizeFaults(added));
      return definition.derive(merged as Static<S>);
    },
  };
}
