// Finds the changes in an object's body: sending only these preserves other people's changes.
import { isObject } from "../../src/model/json.ts";

type Body = Readonly<Record<string, unknown>>;

/** Returns the properties of `after` that differ, nested ones too; a list counts as a whole. */
export function changesOf(before: object, after: object): Body {
  const was = before as Body;
  const changed = Object.entries(after).map(([name, value]) => {
    const old = was[name];
    if (!isObject(value) || !isObject(old))
      return [name, JSON.stringify(value) === JSON.stringify(old) ? undefined : value] as const;
    const within = changesOf(old, value);
    return [name, Object.keys(within).length === 0 ? undefined : within] as const;
  });
  return Object.fromEntries(changed.filter(([, value]) => value !== undefined));
}
