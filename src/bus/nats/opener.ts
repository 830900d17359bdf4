// Opens and decodes sealed messages. What this process's keys do not open never reaches a handler.
import type { MessageKind, Observer } from "../delivery.ts";
import { createKeyCheck, createRefusalLog } from "./refusals.ts";
import type { RefusalsOptions } from "./refusals.ts";
import { placeOf } from "./sealing.ts";
import type { ReceivedMessage, SealerOf } from "./sealing.ts";
import { locationOfSubject } from "./topology.ts";

export interface OpenerOptions extends RefusalsOptions, Pick<Observer, "onDropped"> {
  readonly sealerOf: SealerOf;
}

/** What to do with a message: handle its content, drop it, or leave it to another consumer. */
export type Received<T> = { readonly content: T } | "drop" | "give back";

type Decode<T> = (text: string, locationId: string) => T;

/** Opens what agents send; drops what does not open. */
export function createHubOpener(options: OpenerOptions) {
  const { log, clock, sealerOf, onDropped } = options;
  const logRefusal = createRefusalLog({ clock, log });
  const decoded = createDecoder(options);
  return <T>(kind: MessageKind, decode: Decode<T>) =>
    ({ subject, data }: ReceivedMessage): Received<T> => {
      const locationId = locationOfSubject(subject);
      const text = open(sealerOf, data, locationId, placeOf(kind, locationId));
      if (typeof text === "string") return decoded(kind, decode, text, locationId);
      const advice = `set SONDE_LOCATION_KEY of the location's agents to the key that \`sonde locations env ${locationId}\` prints`;
      logRefusal(locationId, { kind, err: text }, `message dropped: ${advice}`);
      onDropped?.(kind);
      return "drop";
    };
}

export type AgentOpener = ReturnType<typeof createAgentOpener>;

/**
 * Opens what the hub sends; gives back ticks that do not open, since another agent's key may open
 * them.
 */
export function createAgentOpener(options: OpenerOptions) {
  const { log, clock, sealerOf } = options;
  const logRefusal = createRefusalLog({ clock, log });
  const decoded = createDecoder(options);
  const keyCheck = createKeyCheck({ clock });

  function opened(data: Uint8Array, locationId: string, place: string): string | undefined {
    const text = open(sealerOf, data, locationId, place);
    if (typeof text === "string") {
      keyCheck.opened();
      return text;
    }
    const advice = `SONDE_LOCATION_KEY does not open what the hub sends (${text.message}): set it to the key that \`sonde locations env ${locationId}\` prints`;
    keyCheck.refused(advice);
    logRefusal(locationId, { place }, `message refused: ${advice}`);
    return undefined;
  }

  return {
    keyCheck,
    reader:
      <T>(kind: MessageKind, decode: Decode<T>) =>
      ({ subject, data }: ReceivedMessage): Received<T> => {
        const locationId = locationOfSubject(subject);
        const text = opened(data, locationId, placeOf(kind, locationId));
        if (text === undefined) return "give back";
        return decoded(kind, decode, text, locationId);
      },
    /** Undefined for an answer that does not open. */
    answer: opened,
  };
}

/** Returns the text, or the error if the message does not open. */
function open(
  sealerOf: SealerOf,
  data: Uint8Array,
  locationId: string,
  place: string,
): string | Error {
  try {
    return sealerOf(locationId).open(data, place);
  } catch (cause) {
    return cause as Error;
  }
}

function createDecoder({ clock, log, onDropped }: OpenerOptions) {
  const logFault = createRefusalLog({ clock, log });
  return <T>(
    kind: MessageKind,
    decode: Decode<T>,
    text: string,
    locationId: string,
  ): Received<T> => {
    try {
      return { content: decode(text, locationId) };
    } catch (err) {
      const fields = { kind, err, characters: text.length };
      logFault(locationId, fields, "message dropped: it cannot be decoded");
      onDropped?.(kind);
      return "drop";
    }
  };
}
