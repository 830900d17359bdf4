// Finds and replaces the values in a document that its schema marks as secret.
import type { TSchema } from "typebox";

export type Path = readonly string[];

/** A part of a schema, with the marks that matter here. */
export interface Node {
  readonly secret?: boolean;
  readonly credentials?: boolean;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly patternProperties?: Readonly<Record<string, Node>>;
  readonly additionalProperties?: boolean | Node;
  readonly items?: Node;
  readonly anyOf?: readonly Node[];
}

/** The reason that messages to owners give. */
export const cannotBeDecrypted = (what: string): string => `${what} cannot be decrypted`;

/** A cache, since `hasSecrets` is called for every document in an answer. */
const SECRETIVE = new WeakMap<TSchema, boolean>();

export function hasSecrets(schema: TSchema): boolean {
  const known = SECRETIVE.get(schema) ?? marks(schema);
  SECRETIVE.set(schema, known);
  return known;
}

/**
 * Returns the paths of the secret values that are present and not null. They depend only on the
 * shape of the document, which has the same paths with its values encrypted.
 */
export function secretPaths(schema: TSchema, document: unknown): Path[] {
  return pathsBelow([schema], document, [], isSecret);
}

/** Returns a copy with null for every secret and every object marked as credentials. */
export function hideSecrets(schema: TSchema, document: unknown): unknown {
  const paths = pathsBelow([schema], document, [], isHidden);
  return paths.reduce((hidden, path) => withValueAt(hidden, path, null), document);
}

type Mark = (node: Node) => boolean;
export const isSecret: Mark = ({ secret }) => secret === true;
/** Whether some readers see null instead. */
export const isHidden: Mark = ({ secret, credentials }) => secret === true || credentials === true;

/**
 * Returns a copy with the values at these paths replaced, concurrently; it shares what is
 * unchanged. If several fail, rejects with the reason of the first path.
 */
export async function replaceAt<D>(
  document: D,
  paths: readonly Path[],
  replace: (value: unknown, path: Path) => Promise<unknown>,
): Promise<D> {
  const replacing = paths.map((path) => replace(valueAt(document, path), path));
  await Promise.allSettled(replacing);
  let changed: unknown = document;
  for (const [n, path] of paths.entries()) changed = withValueAt(changed, path, await replacing[n]);
  return changed as D;
}

function marks(node: Node): boolean {
  return isSecret(node) || childrenOf(node).some(marks);
}

function childrenOf(node: Node): Node[] {
  const { additionalProperties: additional, items } = node;
  return [
    ...Object.values(node.properties ?? {}),
    ...Object.values(node.patternProperties ?? {}),
    ...(typeof additional === "object" ? [additional] : []),
    ...(items ? [items] : []),
    ...(node.anyOf ?? []),
  ];
}

/** Returns the paths of the marked values. `nodes` has a schema for each branch of a union. */
function pathsBelow(nodes: readonly Node[], value: unknown, path: Path, isMarked: Mark): Path[] {
  if (value === null || value === undefined || nodes.length === 0) return [];
  const all = nodes.flatMap(withBranches);
  if (all.some(isMarked)) return [path];
  if (typeof value !== "object") return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    pathsBelow(
      all.flatMap((node) => nodesAt(node, name, Array.isArray(value))),
      inner,
      [...path, name],
      isMarked,
    ),
  );
}

/** Returns the node and those of its unions: a value has the marks of each. */
export const withBranches = (node: Node): Node[] => [
  node,
  ...(node.anyOf ?? []).flatMap(withBranches),
];

/** Returns the nodes for a property of this name, or for an item. */
export function nodesAt(node: Node, name: string, isItem: boolean): Node[] {
  if (isItem) return node.items ? [node.items] : [];
  const { properties = {}, patternProperties = {} } = node;
  const named = Object.hasOwn(properties, name) ? properties[name] : undefined;
  if (named) return [named];
  const { additionalProperties: additional } = node;
  const matching = Object.entries(patternProperties).flatMap(([pattern, child]) =>
    new RegExp(pattern).test(name) ? [child] : [],
  );
  return typeof additional === "object" ? [...matching, additional] : matching;
}

const valueAt = (document: unknown, path: Path): unknown =>
  path.reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], document);

function withValueAt(at: unknown, path: Path, value: unknown): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  const container = at as Record<string, unknown>;
  const changed = withValueAt(container[name], rest, value);
  if (Array.isArray(at)) return at.with(Number(name), changed);
  return { ...container, [name]: changed };
}
