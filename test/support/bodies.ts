// Generated request bodies: valid ones for a resource's schema, and ones with a single fault.
import * as fc from "fast-check";
import type { Arbitrary } from "fast-check";
import type { TSchema } from "typebox";

/** Generators for parts that a schema does not describe, by path; `[]` stands for any list item. */
export type Known = Readonly<Record<string, Arbitrary<unknown>>>;

interface Node {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly patternProperties?: Readonly<Record<string, Node>>;
  readonly additionalProperties?: unknown;
  readonly required?: readonly string[];
  readonly items?: Node;
  readonly anyOf?: readonly Node[];
  readonly enum?: readonly unknown[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
  readonly "~refine"?: unknown;
}

const isStorable = (text: string): boolean => !text.includes("\0") && text.isWellFormed();

/** Text in every script, with characters that are invisible, combining or need escaping. */
const oddText: Arbitrary<string> = fc
  .oneof(
    fc.string({ unit: "grapheme", maxLength: 30 }),
    fc.string({ unit: "binary", maxLength: 30 }),
    fc.constantFrom(
      "\u202Eabc\u200B\uFEFF",
      "e\u0301\u0327",
      "\u{1F469}\u200D\u{1F680}",
      "\u0001\u001F\u007F\u0085\u2028\u2029",
      `"\\/'\`\${x}%s{{a}}%%B%%--;`,
      "\r\n\t",
      "__proto__",
      "1e400",
      "\uFFFE\uFFFF\u{10FFFF}",
    ),
  )
  .filter(isStorable);

function textOf({ minLength = 0, maxLength = 1000, pattern }: Node) {
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern));
  const longest = fc.constantFrom("x", "é").map((one) => one.repeat(maxLength));
  const short = oddText.filter((text) => text.length >= minLength && text.length <= maxLength);
  return maxLength <= 8192 ? fc.oneof({ arbitrary: short, weight: 20 }, longest) : short;
}

/** Any JSON that a body may contain. */
const anything: Arbitrary<unknown> = fc.jsonValue({ maxDepth: 5 }).filter((value) => {
  const text = JSON.stringify(value);
  return !/\\u0000|\\ud[89a-f]|__proto__|constructor|prototype/i.test(text);
});

/** A property name. */
const nameOfOne: Arbitrary<string> = fc
  .stringMatching(/^[\w é-]{1,20}$/)
  .filter((name) => !/__proto__|constructor|prototype/.test(name));

/** An object with any content. */
export const anyObject: Arbitrary<object> = fc
  .dictionary(nameOfOne, anything, { maxKeys: 5 })
  .map((entries) => ({ ...entries }));

/** Bodies that the schema allows; throws for a part with a custom rule that is not in `known`. */
export function bodiesOf(schema: TSchema, known: Known): Arbitrary<unknown> {
  const read = (node: Node, path: string): Arbitrary<unknown> => {
    if (known[path]) return known[path];
    if (node.properties) return objectOf(node, path);
    if (node["~refine"]) throw new Error(`${path}: missing from \`known\``);
    if (node.anyOf) return fc.oneof(...node.anyOf.map((branch) => read(branch, path)));
    if (node.enum) return fc.constantFrom(...node.enum);
    switch (node.type) {
      case "string":
        return textOf(node);
      case "boolean":
        return fc.boolean();
      case "null":
        return fc.constant(null);
      case "integer":
        return fc.integer({ min: node.minimum ?? 0, max: node.maximum ?? 1e9 });
      case "array":
        return fc.array(read(node.items ?? {}, `${path}[]`), { maxLength: 5 });
      case "object": {
        const [value = {}] = Object.values(node.patternProperties ?? {});
        return fc
          .dictionary(nameOfOne, read(value, `${path}.*`), { maxKeys: 5 })
          .map((entries) => ({ ...entries }));
      }
      default:
        return anything;
    }
  };
  const objectOf = (node: Node, path: string): Arbitrary<unknown> => {
    const parts = Object.entries(node.properties ?? {}).map(
      ([name, child]) => [name, read(child, path === "" ? name : `${path}.${name}`)] as const,
    );
    const isOpen = typeof node.additionalProperties === "object";
    const all = isOpen ? [...parts, ["something else", anything]] : parts;
    return fc.record(Object.fromEntries(all) as Record<string, Arbitrary<unknown>>, {
      requiredKeys: [...(node.required ?? [])],
      noNullPrototype: true,
    });
  };
  return read(schema, "");
}

export interface Fault {
  readonly what: string;
  readonly body: unknown;
}

/** Every body that breaks the schema in one place and otherwise equals this one. */
export function faultsIn(schema: TSchema, body: unknown): Fault[] {
  const faults: Fault[] = [];
  const visit = (
    node: Node,
    value: unknown,
    path: string,
    put: (value: unknown) => unknown,
  ): void => {
    const add = (what: string, wrong: unknown): void =>
      void faults.push({
        what: `${path || "body"}: ${what}`,
        body: put(wrong),
      });
    const branch = node.anyOf?.find(({ type, enum: values }) =>
      values ? values.includes(value) : type === typeOf(value),
    );
    if (branch) return visit(branch, value, path, put);
    for (const [what, wrong] of wrongValuesOf(node, value)) add(what, wrong);
    if (node.items && Array.isArray(value))
      value.forEach((item, n) =>
        visit(node.items as Node, item, `${path}[${n}]`, (wrong) => put(value.with(n, wrong))),
      );
    if (!node.properties) return;
    const object = value as Record<string, unknown>;
    for (const [name, child] of Object.entries(node.properties))
      if (Object.hasOwn(object, name))
        visit(child, object[name], `${path}.${name}`, (wrong) => put({ ...object, [name]: wrong }));
  };
  visit(schema, body, "", (value) => value);
  return faults;
}

const typeOf = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "array" : typeof value;

function wrongValuesOf(node: Node, value: unknown): [string, unknown][] {
  const { type, maxLength = Infinity, maxItems = Infinity } = node;
  const wrong: [string, unknown][] = [];
  if (node.enum) wrong.push(["a value of its own", "no such value"]);
  if (type === "string") wrong.push(["a number", 5], ["an object", {}]);
  if (type === "boolean") wrong.push(["a word", "true"], ["a number", 1]);
  if (type === "integer") wrong.push(["a fraction", 1.5], ["a word", "5"], ["a negative", -1]);
  if (type === "array") wrong.push(["an object", {}], ["a word", "x"]);
  if (type === "object") wrong.push(["a list", []], ["a word", "x"]);
  if (node.additionalProperties === false && type === "object")
    wrong.push(["a property more", { ...(value as object), unknown: 1 }]);
  if (maxLength <= 600_000) wrong.push(["too long", "x".repeat(maxLength + 1)]);
  if (Array.isArray(value) && value.length > 0) {
    const repeated = JSON.stringify(value[0]).length * maxItems;
    // If longer, the body itself would be too large.
    if (repeated < 500_000) wrong.push(["too many", Array(maxItems + 1).fill(value[0])]);
  }
  return wrong;
}
