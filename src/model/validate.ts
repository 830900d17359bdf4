// Checks values against schemas, without coercion or stripping, and words the faults as JSON Schema
// validators do.
import type { Static, TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { Settings } from "typebox/system";
import { invalid } from "./errors.ts";

// TypeBox stops at 8 faults by default; a caller is told of all, within reason.
Settings.Set({ maxErrors: 1000 });

interface Fault {
  readonly keyword: string;
  readonly schemaPath: string;
  readonly instancePath: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly message: string;
}

export interface Validator<T> {
  /** True when `value` fits; says nothing of why not. */
  accepts(value: unknown): value is T;
  /** Every fault of `value`, in reading order, in words for its sender. Empty when it fits. */
  faults(value: unknown): string[];
  /** The value itself, or an `invalid` error that states the first fault and counts the others. */
  parse(value: unknown): T;
}

/**
 * A schema may carry `fault: (shown) => string` to word a failed `pattern`, `format` or `refine` in
 * its own terms.
 */
export function createValidator<S extends TSchema>(schema: S): Validator<Static<S>> {
  const compiled = Compile(schema);
  const faults = (value: unknown): string[] =>
    compiled.Check(value) ? [] : describeFaults(schema, value, compiled.Errors(value));
  return {
    accepts: (value): value is Static<S> => compiled.Check(value),
    faults,
    parse(value) {
      const found = faults(value);
      if (found.length > 0) throw invalid(summarizeFaults(found));
      return value as Static<S>;
    },
  };
}

/** The first fault, and how many others there are. */
export function summarizeFaults(faults: readonly string[]): string {
  const others = faults.length - 1;
  if (others <= 0) return faults[0] ?? "";
  return `${faults[0]} (and ${others} other ${others === 1 ? "fault" : "faults"})`;
}

/** A value as an error message shows it: Python-like quotes for strings, at most 100 characters. */
export function show(value: unknown): string {
  const text = typeof value === "string" ? `'${value}'` : (JSON.stringify(value) ?? String(value));
  return text.length > 100 ? `${text.slice(0, 97)}...` : text;
}

/** What must not be there first, then what is missing, then what is wrong. */
function describeFaults(schema: TSchema, value: unknown, raw: readonly Fault[]): string[] {
  const of = (keyword: string): Fault[] => raw.filter((fault) => fault.keyword === keyword);
  // Each property by itself: where there are very many, the fault of their object is cut off.
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
  // A union is told by its branches: all that is wrong in one place is one fault.
  const wrong = raw.filter(({ keyword }) => !TOLD_ELSEWHERE.has(keyword));
  const byPlace = Map.groupBy(wrong, ({ instancePath }) => instancePath);
  const wrongOnes = [...byPlace.values()].map((faults) =>
    describeValue(schema, value, faults[0] as Fault, faults),
  );
  const all = [...new Set([...unexpectedOnes, ...missingOnes, ...wrongOnes])];
  // A value that does not fit never passes for want of words.
  return all.length > 0 ? all : [`body: ${show(value)} is not allowed`];
}

// A property that must not be there is told with its siblings, a union by its branches.
const TOLD_ELSEWHERE = new Set(["additionalProperties", "required", "boolean", "anyOf"]);

/** An object that is missing is told by what is required in it, if anything is. */
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

const MAX_NAMES = 20;

/** Of the properties of one object. */
function unexpected(parent: string, names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).map((name) => show(name));
  const others = names.length > MAX_NAMES ? " and others" : "";
  const verb = names.length === 1 ? "was" : "were";
  const path = toPath(parent);
  const where = path === "" ? "" : ` in ${path}`;
  return `Additional properties are not allowed (${shown.join(", ")}${others} ${verb} unexpected)${where}`;
}

function describeValue(
  schema: TSchema,
  root: unknown,
  first: Fault,
  faults: readonly Fault[],
): string {
  const value = valueAt(root, first.instancePath);
  const path = toPath(first.instancePath) || "body";
  const custom = faultWording(schemaAt(schema, first.instancePath));
  const types = faults.flatMap((fault) => (fault.keyword === "type" ? [fault.params["type"]] : []));
  const rule = faults.find((fault) => fault.keyword !== "type") ?? first;
  if (rule.keyword === "type")
    return `${path}: ${show(value)} is not of type ${types.flat().join(" or ")}`;
  if (custom && rule.keyword !== "maxLength") return `${path}: ${custom(show(value))}`;
  const limit = String(rule.params["limit"]);
  switch (rule.keyword) {
    case "enum":
      return `${path}: ${show(value)} is not one of ${list(rule.params["allowedValues"])}`;
    case "const":
      return `${path}: ${show(value)} is not one of ${list(faults.flatMap((f) => (f.keyword === "const" ? [f.params["allowedValue"]] : [])))}`;
    case "minLength":
      return `${path}: ${show(value)} is too short (at least ${limit} ${limit === "1" ? "character" : "characters"})`;
    case "maxLength":
      return `${path}: ${show(value)} is too long (at most ${limit} characters)`;
    case "maxItems":
      return `${path}: ${(value as unknown[]).length} items are too many (at most ${limit})`;
    case "minimum":
      return `${path}: ${show(value)} is less than the minimum of ${limit}`;
    case "maximum":
      return `${path}: ${show(value)} is greater than the maximum of ${limit}`;
    case "pattern":
      return `${path}: ${show(value)} does not match '${String(rule.params["pattern"])}'`;
    default:
      return `${path}: ${show(value)} ${rule.message}`;
  }
}

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

interface SchemaNode {
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly required?: readonly string[];
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
  readonly fault?: (shown: string) => string;
}

function schemaAt(schema: TSchema, pointer: string): SchemaNode | undefined {
  return steps(pointer).reduce<SchemaNode | undefined>(
    (node, step) => node?.properties?.[step] ?? node?.items,
    schema as SchemaNode,
  );
}

const faultWording = (node: SchemaNode | undefined): SchemaNode["fault"] =>
  node?.fault ?? node?.anyOf?.find((branch) => branch.fault)?.fault;
