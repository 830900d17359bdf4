// What of a document an update changed: paths, never values.

/** Set by every update. */
const ALWAYS_CHANGED = ["meta.last_update", "meta.updated"];

/** In alphabetical order. Objects are compared field by field, arrays as a whole. */
export const changedPaths = (before: unknown, after: unknown): string[] =>
  differences(before, after, "")
    .filter((path) => !ALWAYS_CHANGED.includes(path))
    .toSorted();

function differences(before: unknown, after: unknown, path: string): string[] {
  if (!isObject(before) || !isObject(after))
    return JSON.stringify(before) === JSON.stringify(after) ? [] : [path];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) =>
    differences(
      Object.hasOwn(before, name) ? before[name] : undefined,
      Object.hasOwn(after, name) ? after[name] : undefined,
      path === "" ? name : `${path}.${name}`,
    ),
  );
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
