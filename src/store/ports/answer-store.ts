// The port of kept answers: what a request was answered, for when it is repeated.

export interface KeptAnswer {
  /** Tells one request body from another. */
  readonly fingerprint: string;
  readonly answer: unknown;
}

export interface AnswerStore {
  /**
   * Undefined for the first that asks since `since`, who then keeps an answer in the same
   * transaction; the kept answer for all others, who wait for that transaction's end. Only inside a
   * transaction.
   */
  claim(id: string, now: number, since: number): Promise<KeptAnswer | undefined>;
  keep(id: string, answer: KeptAnswer): Promise<void>;
  /** So that the next that asks is the first again. */
  forget(id: string): Promise<void>;
  prune(before: number): Promise<void>;
}
