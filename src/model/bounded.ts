// Cuts values that far exceed a schema's limits: the cost of finding faults stays bounded.

interface Node {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly patternProperties?: object;
  readonly additionalProperties?: unknown;
  readonly maxProperties?: number;
  readonly items?: Node;
  readonly maxItems?: number;
  readonly anyOf?: readonly Node[];
}

/** Maximum unexpected properties of one object in a message. */
export const MAX_NAMES = 20;

/**
 * Returns the value, cut to one item or property more than the schema allows wherever it has more;
 * the value itself if there is nothing to cut. The result is valid if and only if the value is.
 */
export function bounded(schema: object, value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const node = nodeOf(schema, Array.isArray(value) ? "array" : "object");
  return Array.isArray(value) ? boundedArray(node, value) : boundedObject(node, value);
}

const nodeOf = (schema: Node, type: string): Node =>
  schema.anyOf?.find((branch) => branch.type === type) ?? schema;

function boundedArray({ items, maxItems = Infinity }: Node, value: readonly unknown[]): unknown {
  const first = value.length > maxItems ? value.slice(0, maxItems + 1) : value;
  if (!items) return first;
  const inner = first.map((item) => bounded(items, item));
  return inner.every((item, at) => item === first[at]) ? first : inner;
}

function boundedObject(node: Node, value: object): unknown {
  const { properties = {} } = node;
  const given = Object.entries(value);
  const known = given.filter(([name]) => Object.hasOwn(properties, name));
  const most = mostOthers(node);
  const kept =
    given.length - known.length > most
      ? [...known, ...given.filter(([name]) => !Object.hasOwn(properties, name)).slice(0, most + 1)]
      : given;
  const inner = kept.map(([name, each]) => {
    const child = Object.hasOwn(properties, name) ? properties[name] : undefined;
    return [name, child ? bounded(child, each) : each] as const;
  });
  const isWhole = kept === given && inner.every(([, each], at) => each === given[at]?.[1]);
  return isWhole ? value : Object.fromEntries(inner);
}

/** How many properties that the schema does not name are looked at. */
function mostOthers({ maxProperties, additionalProperties, patternProperties }: Node): number {
  if (maxProperties !== undefined) return maxProperties;
  return additionalProperties === false && !patternProperties ? MAX_NAMES : Infinity;
}
