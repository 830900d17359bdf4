// The port of the renewal of tokens: which are to be looked at, by whom, and when again.

export interface DueToken {
  readonly id: string;
  readonly owner: string;
}

/** The time of a token that was just written; it orders it before all others. */
export const AT_ONCE = 0;

/**
 * A token is due at once when it was written, or its setting was: whoever looks at it says when
 * next. All times are epoch milliseconds.
 */
export interface RenewalStore {
  /**
   * The tokens that a call uses, whose time has come and that nobody has claimed, those that wait
   * for the longest first.
   */
  listDue(now: number): Promise<DueToken[]>;
  /**
   * For one process at a time, whatever is written meanwhile: until `until`, by when it is done
   * with the token or gone. False when another took it first.
   */
  claim(id: string, now: number, until: number): Promise<boolean>;
  /**
   * Ends the claim until `claimed`. The token is looked at again at `next`, null for not before it,
   * or its setting, is written; false where that was done since it was claimed: it is then due at
   * once.
   */
  release(id: string, claimed: number, next: number | null): Promise<boolean>;
  /** When to look again at a token that the same transaction wrote. */
  putOff(id: string, next: number | null): Promise<void>;
}
