// Finds the changes in an object's body: sending only these preserves other people's changes.

type Body = Readonly<Record<string, unknown>>;

const isBody = (value: unknown): value is Body =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns the properties of `after` that differ, nested ones too; a list counts as a whole. */
export function changesOf(before: object, after: object): Body {
  const was = before as Body;
  const changed = Object.entries(after).map(([name, value]) => {
    const old = was[name];
    if (!isBody(value) || !isBody(old))
      return [name, JSON.stringify(value) === JSON.stringify(old) ? undefined : value] as const;
    const within = changesOf(old, value);
    return [name, Object.keys(within).length === 0 ? undefined : within] as const;
  });
  return Object.fromEntries(changed.filter(([, value]) => value !== undefined));
}
