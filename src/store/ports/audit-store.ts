// The port of the audit trail: who changed what, when and from where; never the values.

export interface AuditEntry {
  readonly time: number;
  /** The id of the key that acted, or what else did, such as `command line`. */
  readonly actor: string;
  /** On whose behalf; null for what belongs to nobody. */
  readonly owner: string | null;
  /** Of the request; null where there was none. */
  readonly address: string | null;
  readonly action: AuditAction;
  /** A kind of resource, or `api_key`, `location`. */
  readonly kind: string;
  readonly object_id: string;
  /** The paths that an update changed. */
  readonly fields: readonly string[];
}

export type AuditAction = "create" | "update" | "delete" | "run" | "issue" | "revoke";

export interface AuditQuery {
  /** Inclusive. */
  readonly since?: number | undefined;
  readonly owner?: string | undefined;
  readonly limit: number;
}

export interface AuditStore {
  /** In the transaction of what it tells of. */
  record(entry: AuditEntry): Promise<void>;
  /** The newest ones that the query takes, oldest first. */
  list(query: AuditQuery): Promise<AuditEntry[]>;
}
