// The port of API keys.
import type { Principal } from "../../model/access.ts";
import type { Page } from "./document-store.ts";

export interface ApiKey extends Principal {
  readonly created: number;
  readonly last_update: number;
  readonly revoked: boolean;
}

export interface ApiKeyStore {
  /** False when there is a key with this id already. */
  insert(key: ApiKey, hash: string): Promise<boolean>;
  /** Undefined for an unknown or revoked key. */
  findByHash(hash: string): Promise<ApiKey | undefined>;
  /** Of one owner, or of all; revoked ones are left out. */
  list(owner: string | null, page: Page): Promise<ApiKey[]>;
  /** False when there was no such key in force. `owner` null: anyone's. */
  revoke(id: string, owner: string | null, now: number): Promise<boolean>;
  /** Revoked ones included. */
  count(): Promise<number>;
}
