// The port of owned resources: JSON documents, and who may read them.
import type { Owned, Principal } from "../../model/access.ts";
import type { FilterField, ResourceKind } from "../../model/resource.ts";

/** Rows after `after` (exclusive; "" is the start) in creation order, at most `limit`. */
export interface Page {
  readonly after: string;
  readonly limit: number;
}

/** An owned resource: its JSON document, and what access to it depends on. */
export interface StoredDocument<D = unknown> extends Owned {
  readonly id: string;
  readonly kind: ResourceKind;
  readonly document: D;
  /** Why its secrets, null here, cannot be opened: the row was tampered with, or a key is gone. */
  readonly unreadable?: Error;
}

export interface NewDocument extends StoredDocument {
  readonly filters: Partial<Record<FilterField, string | null>>;
  /** Of the kinds that name several calls: those that it is found by. */
  readonly callIds?: readonly string[];
}

export type Filters = Partial<Record<FilterField | "call_id", string>>;

export interface DocumentStore {
  /** False when there is one already with this id, or with this name in its workspace. */
  insert(document: NewDocument): Promise<boolean>;
  /**
   * Locks the row until the end of the transaction, so that concurrent updates follow one another.
   */
  getForUpdate(kind: ResourceKind, id: string): Promise<StoredDocument | undefined>;
  get(kind: ResourceKind, id: string): Promise<StoredDocument | undefined>;
  /** Those that there are, in creation order. */
  getMany(kind: ResourceKind, ids: readonly string[]): Promise<StoredDocument[]>;
  /**
   * Overwrites whatever is stored, readable or not: whoever calls it has locked the row and seen
   * that it is readable. Rejects only what was itself read as `unreadable`.
   */
  replace(document: NewDocument): Promise<void>;
  remove(kind: ResourceKind, id: string): Promise<void>;
  /** Those that `reader` may read, by an index on either database. */
  list(
    kind: ResourceKind,
    reader: Principal,
    filters: Filters,
    page: Page,
  ): Promise<StoredDocument[]>;
  /** Those of the kind, whoever owns them. */
  listKind(kind: ResourceKind, page: Page): Promise<StoredDocument[]>;
  /** Every document of the kind with this filter value, whoever owns it. */
  listAll(kind: ResourceKind, filter: keyof Filters, value: string): Promise<StoredDocument[]>;
  /** How many `listAll` would give. */
  count(kind: ResourceKind, filter: keyof Filters, value: string): Promise<number>;
}
