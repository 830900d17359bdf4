// Validates values against schemas, without coercion or stripping. Faults are worded like those of
// JSON Schema validators.
import type { Static, TSchema } from "typebox";
import { Compile } from "typebox/schema";
import { Settings } from "typebox/system";
import { bounded, MAX_NAMES } from "./bounded.ts";
import { invalid } from "./errors.ts";
import { hasSecrets, isHidden } from "./secrets.ts";
import type { Node } from "./secrets.ts";

// TypeBox stops at 8 faults by default; callers see them all, within reason.
Settings.Set({ maxErrors: 1000 });

interface Fault {
  readonly keyword: string;
  readonly schemaPath: string;
  readonly instancePath: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly message: string;
}

export interface Validator<T> {
  /** Cheaper than `faults`. */
  accepts(value: unknown): value is T;
  /**
   * Returns every fault, worded for the sender; empty if `value` is valid. Looks at no more items
   * and properties than one beyond what the schema allows.
   */
  faults(value: unknown): string[];
  /** Returns the value; throws `invalid` with the first fault and the number of others. */
  parse(value: unknown): T;
}

/** The keyword `fault: (shown, value) => string` words a failed `pattern` or `refine`. */
export function createValidator<S extends TSchema>(schema: S): Validator<Static<S>> {
  // At the first use: a process uses few of the schemas that it loads.
  let compiled: ReturnType<typeof Compile<S>> | undefined;
  const compile = () => (compiled ??= Compile(schema));
  const faults = (value: unknown): string[] => {
    const part = bounded(schema, value);
    if (compile().Check(part)) return [];
    return describeFaults(schema, value, compile().Errors(part)[1]);
  };
  return {
    accepts: (value): value is Static<S> => compile().Check(value),
    faults,
    parse(value) {
      const found = faults(value);
      if (found.length > 0) throw invalid(summarizeFaults(found));
      return value as Static<S>;
    },
  };
}

/** Returns the first fault and the number of others. */
export function summarizeFaults(faults: readonly string[]): string {
  const others = faults.length - 1;
  if (others <= 0) return faults[0] ?? "";
  return `${faults[0]} (and ${others} other ${others === 1 ? "fault" : "faults"})`;
}

/** Formats a value for an error message: strings in single quotes, at most 100 characters. */
export function show(value: unknown): string {
  const text = typeof value === "string" ? `'${value}'` : (JSON.stringify(value) ?? String(value));
  return text.length > 100 ? `${text.slice(0, 97).toWellFormed()}...` : text;
}

/** Lists unexpected properties first, then missing ones, then wrong values. */
function describeFaults(schema: TSchema, value: unknown, raw: readonly Fault[]): string[] {
  const of = (keyword: string): Fault[] => raw.filter((fault) => fault.keyword === keyword);
  // From each property's fault: with very many, that of their object is beyond `maxErrors`.
  const extra = Map.groupBy(
    of("boolean").filter(({ schemaPath }) => schemaPath.endsWith("/additionalProperties")),
    ({ instancePath }) => instancePath.slice(0, instancePath.lastIndexOf("/")),
  );
  const unexpectedOnes = [...extra].map(([parent, faults]) =>
    unexpected(
      parent,
      faults.map(({ instancePath }) => steps(instancePath).at(-1) ?? ""),
    ),
  );
  const missingOnes = of("required").flatMap((fault) => missing(schema, fault));
  // The branches of a union report its faults; those in one place are one fault.
  const wrong = raw.filter(
    (fault) => !REPORTED_OTHERWISE.has(fault.keyword) && !isOfNull(fault, raw) && !isOfEmpty(fault),
  );
  const byPlace = Map.groupBy(wrong, ({ instancePath }) => instancePath);
  const wrongOnes = [...byPlace.values()].map((faults) =>
    describeValue(schema, value, faults[0] as Fault, faults),
  );
  const all = [...new Set([...unexpectedOnes, ...missingOnes, ...wrongOnes])];
  // An invalid value always has a fault.
  return all.length > 0 ? all : [`body: ${shownAt(schema, "", value)} is not allowed`];
}

// Reported otherwise: unexpected properties with their siblings, unions by their branches.
const REPORTED_OTHERWISE = new Set(["additionalProperties", "required", "boolean", "anyOf"]);

/** Whether this is the null branch of a nullable object whose faults are inside it. */
const isOfNull = ({ params, instancePath }: Fault, all: readonly Fault[]): boolean =>
  params["type"] === "null" &&
  all.some((other) => other.instancePath.startsWith(`${instancePath}/`));

/** Whether this is the branch of a union that accepts the empty text as no value. */
const isOfEmpty = ({ keyword, params }: Fault): boolean =>
  keyword === "enum" && String(params["allowedValues"]) === "";

/** Names the required properties of a missing object, if it has any, instead of the object. */
function missing(schema: TSchema, fault: Fault): string[] {
  const names = fault.params["requiredProperties"] as string[];
  const parent = schemaAt(schema, fault.instancePath);
  return names
    .flatMap((name) =>
      requiredLeaves(parent?.properties?.[name], join(toPath(fault.instancePath), name)),
    )
    .map((path) => `'${path}' is a required property`);
}

function requiredLeaves(node: SchemaNode | undefined, path: string): string[] {
  const names = node?.properties ? (node.required ?? []) : [];
  if (names.length === 0) return [path];
  return names.flatMap((name) => requiredLeaves(node?.properties?.[name], join(path, name)));
}

/** Words the fault of all unexpected properties of an object; `parent` is its JSON Pointer. */
export function unexpected(parent: string, names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).map((name) => show(name));
  const others = names.length > MAX_NAMES ? " and others" : "";
  const verb = names.length === 1 ? "was" : "were";
  const path = toPath(parent);
  const where = path === "" ? "" : ` in ${path}`;
  return `Additional properties are not allowed (${shown.join(", ")}${others} ${verb} unexpected)${where}`;
}

const WORDED = new Set(["pattern", "~refine"]);

function describeValue(
  schema: TSchema,
  root: unknown,
  first: Fault,
  faults: readonly Fault[],
): string {
  const value = valueAt(root, first.instancePath);
  const path = toPath(first.instancePath) || "body";
  const custom = faultWording(schemaAt(schema, first.instancePath));
  const shown = (): string => shownAt(schema, first.instancePath, value);
  const types = faults.flatMap((fault) => (fault.keyword === "type" ? [fault.params["type"]] : []));
  const rule = faults.find((fault) => fault.keyword !== "type") ?? first;
  if (rule.keyword === "type")
    return `${path}: ${shown()} is not of type ${types.flat().join(" or ")}`;
  if (custom && WORDED.has(rule.keyword)) return `${path}: ${custom(shown(), value)}`;
  const limit = String(rule.params["limit"]);
  switch (rule.keyword) {
    case "enum":
      return `${path}: ${shown()} is not one of ${list(rule.params["allowedValues"])}`;
    case "minLength":
      return `${path}: ${shown()} is too short (at least ${limit} ${limit === "1" ? "character" : "characters"})`;
    case "maxLength":
      return `${path}: ${shown()} is too long (at most ${limit} characters)`;
    case "maxItems":
      return `${path}: ${(value as unknown[]).length} items are too many (at most ${limit})`;
    case "minimum":
      return `${path}: ${shown()} is less than the minimum of ${limit}`;
    case "maximum":
      return `${path}: ${shown()} is greater than the maximum of ${limit}`;
    case "pattern":
      return `${path}: ${shown()} does not match '${String(rule.params["pattern"])}'`;
    default:
      return `${path}: ${shown()} ${rule.message}`;
  }
}

/** Shows no value that is secret, or has a secret in it, but the names of pairs. */
function shownAt(schema: TSchema, pointer: string, value: unknown): string {
  const isHarmless =
    value === null || typeof value === "boolean" || steps(pointer).at(-1) === "key";
  if (isHarmless) return show(value);
  const nodes: SchemaNode[] = [schema];
  for (const step of steps(pointer)) {
    const node = childAt(nodes.at(-1), step);
    if (node) nodes.push(node);
  }
  const isSecretive = nodes.some(isSecretNode) || hasSecrets(nodes.at(-1) as TSchema);
  return isSecretive ? "the given value" : show(value);
}

const isSecretNode = (node: Node): boolean =>
  isHidden(node) || (node.anyOf?.some(isSecretNode) ?? false);

const list = (values: unknown): string =>
  `[${(values as unknown[]).map((value) => show(value)).join(", ")}]`;

const steps = (pointer: string): string[] =>
  pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));

const join = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`);

function toPath(pointer: string): string {
  return steps(pointer).reduce(
    (path, step) => (/^\d+$/.test(step) ? `${path}[${step}]` : join(path, step)),
    "",
  );
}

function valueAt(root: unknown, pointer: string): unknown {
  return steps(pointer).reduce<unknown>(
    (at, step) => (at as Record<string, unknown> | undefined)?.[step],
    root,
  );
}

interface SchemaNode extends Node {
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly required?: readonly string[];
  readonly items?: SchemaNode;
  readonly additionalProperties?: SchemaNode | boolean;
  readonly anyOf?: readonly SchemaNode[];
  readonly fault?: (shown: string, value: unknown) => string;
}

function schemaAt(schema: TSchema, pointer: string): SchemaNode | undefined {
  return steps(pointer).reduce<SchemaNode | undefined>(childAt, schema as SchemaNode);
}

const childAt = (node: SchemaNode | undefined, step: string): SchemaNode | undefined =>
  node?.properties?.[step] ??
  node?.items ??
  (typeof node?.additionalProperties === "object" ? node.additionalProperties : undefined) ??
  node?.anyOf?.map((branch) => childAt(branch, step)).find((child) => child !== undefined);

const faultWording = (node: SchemaNode | undefined): SchemaNode["fault"] =>
  node?.fault ?? node?.anyOf?.find((branch) => branch.fault)?.fault;
