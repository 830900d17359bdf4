// The port of the master keys: which ones the database is sealed with, and its move from one to
// another.

export interface MasterKeyStore {
  /**
   * Registers the current key as one that the database is sealed with. Rejects, changing nothing,
   * when the process does not hold every key that is registered.
   */
  claim(): Promise<void>;
  /**
   * Seals anew, under the current key, what is sealed under others, row by row and without locks;
   * `onStep` is told of every hundred or so. After an interruption it goes on with what is left. In
   * the end only the current key is registered.
   */
  rotate(onStep: (step: RotationStep) => void): Promise<void>;
}

export interface RotationStep {
  /** What was gone through: a kind of resource, or `kept answers`. */
  readonly what: string;
  /** So far. */
  readonly checked: number;
  readonly resealed: number;
}
