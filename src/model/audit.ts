// The entries of the audit trail.

export const AUDIT_ACTIONS = [
  "create",
  "read",
  "update",
  "delete",
  "run",
  "issue",
  "revoke",
  "rotate",
  "reject",
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** Who changed what, when and from where; never the values. */
export interface AuditEntry {
  readonly time: number;
  /** The id of the key that acted, or another actor, such as `command line`. */
  readonly actor: string;
  /** On whose behalf, with `org`; null for no owner. */
  readonly owner: string | null;
  readonly org: string | null;
  /** From the request; null if there was none. */
  readonly address: string | null;
  readonly action: AuditAction;
  /**
   * A kind of resource, or `agent`, `api_key`, `location`, `location_key`, `master_key`,
   * `nats_user`, `session`, `sign_in`, `statistics`.
   */
  readonly kind: string;
  readonly object_id: string;
  /** The owner of the object, if it is someone else. */
  readonly object_owner?: string | null;
  readonly object_org?: string | null;
  /** The paths that an update changed. */
  readonly fields: readonly string[];
}

export interface StoredAuditEntry extends AuditEntry {
  readonly id: string;
}
