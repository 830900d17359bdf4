// The port of the renewal of tokens: which are to be looked at, and when again.

export interface DueToken {
  readonly id: string;
  readonly owner: string;
}

/** The time of a token that was just written; it orders it before all others. */
export const AT_ONCE = 0;

/**
 * A token is due at once when it was written, or its setting was: whoever looks at it says when next. All times are epoch
 * milliseconds.
 */
export interface RenewalStore {
  /** The tokens that a call uses and whose time has come, those that wait for the longest first. */
  listDue(now: number): Promise<DueToken[]>;
  /**
   * For one process at a time: puts the token off until `until`, by when whoever took it is done with it or gone. False
   * when another took it first.
   */
  claim(id: string, now: number, until: number): Promise<boolean>;
  /**
   * When to look at the token again; null for not before it, or its setting, is written. False, changing nothing, when
   * its time is not `before` any more.
   */
  putOff(id: string, before: number, until: number | null): Promise<boolean>;
}
