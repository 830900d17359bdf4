// What of an object's body changes: what others saved meanwhile can stay.

type Body = Readonly<Record<string, unknown>>;

const isBody = (value: unknown): value is Body =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The properties of `after` that differ, within objects too; lists are taken whole. */
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
