// Which versions of a location's key are valid during a rotation.

/** How long the previous key stays valid after a rotation, unless the operator says otherwise. */
export const DEFAULT_GRACE_HOURS = 24;

export interface KeyState {
  /** The version of the newest key: 1, and one more with each rotation. */
  readonly key_version: number;
  /** When the newest key takes over; until then the previous one is valid too. Null once it has. */
  readonly key_changed: number | null;
}

export interface KeyVersions {
  /** Seals what the hub sends. */
  readonly sealing: number;
  /** Open what agents send, newest first, since agents may have the newest key already. */
  readonly opening: readonly number[];
}

export function keyVersionsAt({ key_version, key_changed }: KeyState, now: number): KeyVersions {
  const isChanging = key_version > 1 && key_changed !== null && now < key_changed;
  if (!isChanging) return { sealing: key_version, opening: [key_version] };
  const previous = key_version - 1;
  return { sealing: previous, opening: [key_version, previous] };
}
