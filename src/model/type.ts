// Builds JSON Schemas with TypeBox's types. TypeBox's own builders would load 370 modules, which
// takes each process and thread 150 ms. TypeBox compiles the schemas, and `Static` is the type of
// what they accept.
import type * as TypeBox from "typebox";
import type { TSchema, TSchemaOptions } from "typebox";

type Options = TSchemaOptions;

const isOptional = (schema: object): boolean => Object.hasOwn(schema, "~optional");

/** Returns a copy with a hidden annotation, which TypeBox reads and JSON Schema ignores. */
const withHidden = (schema: object, name: string, value: unknown): object =>
  Object.defineProperties(
    {},
    { ...Object.getOwnPropertyDescriptors(schema), [name]: { value, configurable: true } },
  );

const ofType =
  (type: string) =>
  (options?: Options): object => ({ type, ...options });

function object(properties: Readonly<Record<string, TSchema>>, options?: Options): object {
  const required = Object.keys(properties).filter((name) => !isOptional(properties[name] ?? {}));
  return {
    type: "object",
    ...(required.length > 0 && { required }),
    properties,
    ...options,
  };
}

/** Values that the check rejects have the fault `~refine`. */
const refine = (schema: object, check: (value: unknown) => boolean): object =>
  withHidden(schema, "~refine", [
    ...((schema as { "~refine"?: object[] })["~refine"] ?? []),
    { check, error: () => "Refine Error" },
  ]);

const builders = {
  Array: (items: object, options?: Options) => ({ type: "array", items, ...options }),
  Boolean: ofType("boolean"),
  Enum: (values: readonly unknown[], options?: Options) => ({ enum: values, ...options }),
  Integer: ofType("integer"),
  Null: ofType("null"),
  Number: ofType("number"),
  Object: object,
  Optional: (schema: object) => withHidden(schema, "~optional", true),
  Record: (_key: object, value: object, options?: Options) => ({
    type: "object",
    patternProperties: { "^.*$": value },
    ...options,
  }),
  Refine: refine,
  String: ofType("string"),
  Tuple: (items: readonly object[], options?: Options) => ({
    type: "array",
    items,
    minItems: items.length,
    additionalItems: false,
    ...options,
  }),
  Union: (anyOf: readonly object[], options?: Options) => ({ anyOf, ...options }),
  Unknown: (options?: Options) => ({ ...options }),
};

export const Type = builders as unknown as Pick<typeof TypeBox.Type, keyof typeof builders>;
