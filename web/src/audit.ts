// Describes the object and the actor of an audit entry.
import type { AccessLevel } from "../../src/model/access.ts";
import type { AuditAction } from "../../src/model/audit.ts";

export interface AuditEntry {
  readonly id: string;
  readonly time: string;
  readonly actor: string | null;
  readonly owner: string | null;
  readonly address: string | null;
  readonly action: AuditAction;
  readonly kind: string;
  readonly object_id: string;
  readonly object_owner: string | null;
  readonly fields: readonly string[];
}

/** By kind of object: its list in the API, and its page, if it has one. */
const PLACES: Readonly<Record<string, { readonly list: string; readonly page?: string }>> = {
  call: { list: "calls", page: "calls" },
  workflow: { list: "workflows", page: "workflows" },
  report: { list: "reports", page: "reports" },
  auth_setting: { list: "auth", page: "settings" },
  token: { list: "tokens" },
};

export interface ObjectPlace {
  /** Below the API's root; the answer has the object's name. */
  readonly path: string;
  /** Relative to the document's base; undefined if the object has no page. */
  readonly page: string | undefined;
}

/** Returns undefined if the object has no name, has another owner, or is in `deleted`. */
export function placeOf(
  { kind, object_id, object_owner }: AuditEntry,
  deleted: ReadonlySet<string>,
): ObjectPlace | undefined {
  const place = PLACES[kind];
  if (!place || object_owner !== null || deleted.has(object_id)) return undefined;
  const id = encodeURIComponent(object_id);
  return { path: `${place.list}/${id}/`, page: place.page && `${place.page}/${id}` };
}

export const deletedIn = (entries: readonly AuditEntry[]): ReadonlySet<string> =>
  new Set(entries.flatMap(({ action, object_id }) => (action === "delete" ? [object_id] : [])));

export interface NamedKey {
  readonly access_level: AccessLevel;
  readonly name: string | null;
}

/** The owner's active keys, by id; undefined while they are read. */
export type KeysById = ReadonlyMap<string, NamedKey> | undefined;

const NO_KEYS = ["command line", "first start", "demo"];

/** Describes the key that an entry's actor used; undefined for an actor without a key. */
export function keyWords(actor: string, keys: KeysById, own: string | undefined) {
  if (NO_KEYS.includes(actor)) return undefined;
  if (actor === own) return "Your key";
  if (keys === undefined) return "Key";
  const key = keys.get(actor);
  if (key === undefined) return "Revoked key";
  const { name, access_level } = key;
  return name === null ? `${access_level} key` : `${name}, ${access_level} key`;
}
