// Encodes ticks and reports as messages on NATS, and decodes all messages: JSON text, which travels
// sealed.
import {
  callCredentialsValidator,
  credentialsRequestValidator,
} from "../../model/call-credentials.ts";
import type { CallCredentials, CredentialsRequest } from "../../model/call-credentials.ts";
import type { Tick } from "../../model/tick.ts";
import { tickValidator } from "../../model/tick.ts";
import type { RunReport } from "../../model/result.ts";
import { runReportValidator } from "../../model/result.ts";
import type { Heartbeat, HeartbeatAnswer } from "../../model/heartbeat.ts";
import { heartbeatAnswerValidator, heartbeatValidator } from "../../model/heartbeat.ts";
import type { Validator } from "../../model/validate.ts";
import { MAX_REPORTS_PER_MESSAGE, reportKey, tickKey } from "../bus.ts";
import type { ItemKind } from "../delivery.ts";

export interface EncodedMessage<T = unknown> {
  readonly text: string;
  /** Always the same for the same ticks or reports. */
  readonly key: string;
  readonly items: readonly T[];
  readonly runIds: readonly string[];
}

export interface Encoded<T = unknown> {
  readonly messages: readonly EncodedMessage<T>[];
  /** Ids of the runs that fit into no message. */
  readonly tooLarge: readonly string[];
}

/** A question, and the nonce that its answer is bound to. */
export interface Asked<Q> {
  readonly nonce: string;
  readonly question: Q;
}

// The decoders' errors name the fault and quote nothing: the content may be secret.

export const decodeTicks = (text: string, locationId: string): Tick[] =>
  unpack("ticks", text, tickValidator, locationId);

export const decodeReports = (text: string, locationId: string): RunReport[] =>
  unpack("reports", text, runReportValidator, locationId);

export const decodeHeartbeat = (text: string, locationId: string): Asked<Heartbeat> =>
  decodeQuestion("heartbeat", text, heartbeatValidator, locationId);

export const decodeCredentialsRequest = (
  text: string,
  locationId: string,
): Asked<CredentialsRequest> =>
  decodeQuestion("the request", text, credentialsRequestValidator, locationId);

/** Throws if the text is not a valid answer. */
export const decodeHeartbeatAnswer = (text: string): HeartbeatAnswer =>
  heartbeatAnswerValidator.parse(parse(text));

/** Throws if the text is not a valid answer. */
export const decodeCallCredentials = (text: string): CallCredentials =>
  callCredentialsValidator.parse(parse(text));

/** One kind of item. */
export interface Items<T> {
  readonly kind: ItemKind;
  readonly runIdOf: (item: T) => string;
  readonly keyOf: (items: readonly T[]) => string;
}

export const TICKS: Items<Tick> = {
  kind: "ticks",
  runIdOf: ({ result_id }) => result_id,
  keyOf: tickKey,
};

export const REPORTS: Items<RunReport> = {
  kind: "reports",
  runIdOf: ({ run_id }) => run_id,
  keyOf: reportKey,
};

/** Packs the items into messages of at most `maxBytes`. */
export function encode<T>(
  { kind, runIdOf, keyOf }: Items<T>,
  items: readonly T[],
  maxBytes: number,
): Encoded<T> {
  const envelopeBytes = `{"${kind}":[]}`.length;
  const messages: Encoded<T>["messages"][number][] = [];
  const tooLarge: string[] = [];
  let [packed, parts, bytes]: [T[], string[], number] = [[], [], 0];
  const finish = (): void => {
    if (parts.length === 0) return;
    const text = `{"${kind}":[${parts.join(",")}]}`;
    const key = keyOf(packed);
    messages.push({ text, key, items: packed, runIds: packed.map(runIdOf) });
    [packed, parts, bytes] = [[], [], 0];
  };
  for (const item of items) {
    const part = JSON.stringify(item);
    const size = Buffer.byteLength(part) + 1;
    if (envelopeBytes + size > maxBytes) {
      tooLarge.push(runIdOf(item));
      continue;
    }
    const full =
      envelopeBytes + bytes + size > maxBytes || parts.length === MAX_REPORTS_PER_MESSAGE;
    if (full) finish();
    packed.push(item);
    parts.push(part);
    bytes += size;
  }
  finish();
  return { messages, tooLarge };
}

function unpack<T extends { readonly location_id: string }>(
  name: ItemKind,
  text: string,
  validator: Validator<T>,
  locationId: string,
): T[] {
  const items = (parse(text) as Partial<Record<ItemKind, unknown>> | null)?.[name];
  if (!Array.isArray(items) || items.length === 0) throw new Error(`the message holds no ${name}`);
  return items.map((item, at) => checked(`${name}[${at}]`, item, validator, locationId));
}

const NONCE = /^[\w-]{16,64}$/;

function decodeQuestion<Q extends { readonly location_id: string }>(
  what: string,
  text: string,
  validator: Validator<Q>,
  locationId: string,
): Asked<Q> {
  const { nonce, question } = (parse(text) ?? {}) as Partial<Asked<unknown>>;
  if (typeof nonce !== "string" || !NONCE.test(nonce)) throw new Error(`${what} has no nonce`);
  return { nonce, question: checked(what, question, validator, locationId) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("the message is not JSON");
  }
}

function checked<T extends { readonly location_id: string }>(
  what: string,
  item: unknown,
  validator: Validator<T>,
  locationId: string,
): T {
  if (!validator.accepts(item)) {
    const path = validator.faults(item)[0]?.split(":")[0];
    throw new Error(`${what} does not fit its schema (${path})`);
  }
  if (item.location_id !== locationId)
    throw new Error(`${what} belongs to another location than its subject`);
  return item;
}
