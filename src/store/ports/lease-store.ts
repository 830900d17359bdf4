// The port of leases: which process may move a cursor.

/**
 * The right of one process to move a cursor, until it expires. `fence` grows with each new holder.
 */
export interface Lease {
  readonly name: string;
  readonly holder: string;
  readonly fence: number;
  readonly expires_at: number;
  /** The newest slot that was opened; null before the first. */
  readonly cursor: number | null;
}

export interface LeaseStore {
  /**
   * Takes the lease when it is free, expired, held already by `holder`, or expires far further
   * ahead than `ttlMs` allows (the clock was set back). Undefined while another holds it.
   */
  acquire(name: string, holder: string, now: number, ttlMs: number): Promise<Lease | undefined>;
  /**
   * Moves the cursor if the lease still has this fence and cursor; false when another took over.
   */
  advance(lease: Lease, cursor: number): Promise<boolean>;
  /** Free for the next holder at once. */
  release(lease: Lease): Promise<void>;
}
