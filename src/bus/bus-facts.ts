// What an inspection of the bus finds. It publishes nothing that is stored, and makes nothing.

/** What the server says about a stream. */
export interface StreamFacts {
  readonly name: string;
  /** Undefined where the stream is missing. */
  readonly found?: {
    readonly messages: number;
    readonly bytes: number;
    /** −1: none. */
    readonly maxBytes: number;
    readonly replicas: number;
    /** Servers that should have a replica and have none that is current. */
    readonly lagging: readonly string[];
  };
  readonly wanted: { readonly maxBytes: number; readonly replicas: number };
  /** The setting of `wanted.maxBytes`. */
  readonly setting: string;
}

export interface SubjectFacts {
  readonly subject: string;
  /** What the role needs; the others it should not be able to use. */
  readonly needed: boolean;
  readonly allowed: boolean;
}

export interface BusFacts {
  /** Without credentials. */
  readonly addresses: string;
  readonly serverVersion: string;
  readonly roundTripMs: number;
  readonly clustered: boolean;
  readonly subjects: readonly SubjectFacts[];
  /** For the hub: what is wrong with JetStream, or its streams. */
  readonly streams: readonly StreamFacts[] | { readonly fault: string };
  /** For an agent: of its location's ticks. */
  readonly tickConsumer?: ConsumerFacts;
}

export type ConsumerFacts =
  | { readonly pending: number; readonly unacknowledged: number }
  /** The hub has not made it. */
  | "missing"
  | { readonly fault: string };
