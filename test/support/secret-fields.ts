// Builds bodies with a marker in every field marked as secret in the schemas.

interface Node {
  readonly type?: string;
  readonly secret?: boolean;
  readonly readOnly?: boolean;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly patternProperties?: Readonly<Record<string, Node>>;
  readonly additionalProperties?: boolean | Node;
  readonly items?: Node;
  readonly anyOf?: readonly Node[];
}

export type Body = Record<string, unknown>;

/** Returns the secrets of a schema, each with its own marker; undefined if there are none. */
export function markedBody(schema: object, marker: (path: string) => string): Body | undefined {
  return below(schema, [], marker) as Body | undefined;
}

function below(node: Node, path: readonly string[], marker: (path: string) => string): unknown {
  if (node.secret) return filled(node, marker(path.join("_")), marker);
  const parts = Object.entries(node.properties ?? {}).flatMap(([name, child]) => {
    const value = child.readOnly ? undefined : below(child, [...path, name], marker);
    return value === undefined ? [] : [[name, value] as const];
  });
  const { additionalProperties: more } = node;
  if (typeof more === "object" && more.secret)
    parts.push(["vendor_setting", marker([...path, "vendor"].join("_"))]);
  if (parts.length > 0) return Object.fromEntries(parts);
  for (const branch of node.anyOf ?? []) {
    const value = below(branch, path, marker);
    if (value !== undefined) return value;
  }
  return undefined;
}

function filled(node: Node, mark: string, marker: (path: string) => string): unknown {
  const type = typeOf(node);
  if (type === "array") return [{ key: "X-Marked", value: mark }];
  if (type === "object") return { marked: mark };
  return mark === "" ? marker("") : mark;
}

const typeOf = (node: Node): string | undefined =>
  node.type ?? node.anyOf?.map(typeOf).find((type) => type !== undefined && type !== "null");
