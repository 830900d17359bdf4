// Publishes items to a stream, in messages of a size that the server and the stream take.
import { TooLargeError } from "../bus.ts";
import type { Encoded } from "../codec.ts";
import { storeMessage } from "./store-message.ts";
import type { StoreOptions } from "./store-message.ts";

export interface Publisher {
  /**
   * Resolves when all are stored. Rejects with `unavailable` after 5 s, with a `TooLargeError` for
   * what is too large.
   */
  publish<T>(subject: string, items: readonly T[], encode: Encoder<T>): Promise<void>;
}

type Encoder<T> = (items: readonly T[], maxBytes: number) => Encoded<T>;

const DEFAULT_MAX_PAYLOAD = 1024 * 1024;
// The server counts the headers as part of the message.
const HEADER_BYTES = 1024;

export function createPublisher(options: StoreOptions): Publisher {
  const { connection } = options.link;
  /** The largest message that the server takes. */
  const maxBytes = (): number =>
    (connection.info?.max_payload ?? DEFAULT_MAX_PAYLOAD) - HEADER_BYTES;

  /**
   * Returns the runs that are too large. What a stream takes at most, an agent may not ask: it is
   * found out.
   */
  async function store<T>(
    subject: string,
    items: readonly T[],
    encode: Encoder<T>,
  ): Promise<readonly string[]> {
    const { messages, tooLarge } = encode(items, maxBytes());
    const refused = await Promise.all(
      messages.map(async (message) => {
        if (await storeMessage(options, subject, message)) return [];
        const { items: held } = message;
        if (held.length === 1) return encode(held, 0).tooLarge;
        const half = Math.ceil(held.length / 2);
        return [
          ...(await store(subject, held.slice(0, half), encode)),
          ...(await store(subject, held.slice(half), encode)),
        ];
      }),
    );
    return [...tooLarge, ...refused.flat()];
  }

  return {
    async publish(subject, items, encode) {
      const tooLarge = await store(subject, items, encode);
      if (tooLarge.length > 0)
        throw new TooLargeError(
          tooLarge,
          `too large for NATS, which takes ${maxBytes()} bytes, or fewer where a stream has a max_msg_size (raise that, or max_payload in its configuration): ${tooLarge.join(", ")}`,
        );
    },
  };
}
