// What an inspection of the bus finds. It stores no message and creates nothing.

/** What the server says about a stream. */
export interface StreamFacts {
  readonly name: string;
  /** Undefined where the stream is missing. */
  readonly found?: {
    readonly messages: number;
    readonly bytes: number;
    /** −1: no limit. */
    readonly maxBytes: number;
    readonly replicas: number;
    /** Servers that should have a replica but have no current one. */
    readonly lagging: readonly string[];
  };
  readonly wanted: { readonly maxBytes: number; readonly replicas: number };
  /** The name of the setting behind `wanted.maxBytes`. */
  readonly setting: string;
}

export interface SubjectFacts {
  readonly subject: string;
  /** Whether the role needs the subject; if not, it should have no access to it. */
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
  /** For the hub: its streams, or what is wrong with JetStream. */
  readonly streams: readonly StreamFacts[] | { readonly fault: string };
  /** For an agent: the consumer of its location's ticks. */
  readonly tickConsumer?: ConsumerFacts;
}

export type ConsumerFacts =
  | { readonly pending: number; readonly unacknowledged: number }
  /** The hub has not created it. */
  | "missing"
  | { readonly fault: string };
