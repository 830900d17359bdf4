// Seals messages on NATS: each whole, under its location's key, bound to its kind and location.
import type { MessageSealer } from "../../runtime/message-sealer.ts";
import type { MessageKind } from "../delivery.ts";
import type { EncodedMessage } from "./codec.ts";

/** Throws if this process has no key for the location. `compose/location-keys.ts` makes it. */
export type SealerOf = (locationId: string) => MessageSealer;

export interface SealedMessage {
  /** Lets the server recognize a stored message. Others cannot guess it. */
  readonly id: string;
  readonly data: Uint8Array;
}

export interface ReceivedMessage {
  readonly subject: string;
  readonly data: Uint8Array;
}

export const placeOf = (kind: MessageKind, locationId: string): string => `${kind}/${locationId}`;

/** `nonce`: the question's, so that the answer fits no other. */
export const answerPlaceOf = (kind: MessageKind, locationId: string, nonce: string): string =>
  `${kind} answer/${locationId}/${nonce}`;

export function sealMessage(
  sealer: MessageSealer,
  place: string,
  { key, text }: Pick<EncodedMessage, "key" | "text">,
): SealedMessage {
  return { id: sealer.digest(`${place}\n${key}`), data: sealer.seal(text, place) };
}
