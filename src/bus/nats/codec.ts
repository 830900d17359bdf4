// Messages on NATS: ticks, reports, and questions with their answers, as JSON. The same ticks or
// reports have the same id.
import { createHash } from "node:crypto";
import {
  callCredentialsValidator,
  credentialsRequestValidator,
} from "../../model/call-credentials.ts";
import type { CallCredentials, CredentialsRequest } from "../../model/call-credentials.ts";
import type { Tick } from "../../model/tick.ts";
import { tickValidator } from "../../model/tick.ts";
import type { RunReport } from "../../model/result.ts";
import { runReportValidator } from "../../model/result.ts";
import type { Heartbeat, HeartbeatAnswer } from "../../model/location.ts";
import { heartbeatAnswerValidator, heartbeatValidator } from "../../model/location.ts";
import type { Validator } from "../../model/validate.ts";
import { MAX_REPORTS_PER_BATCH } from "../bus.ts";

export interface ReceivedMessage {
  readonly subject: string;
  readonly data: Uint8Array;
}

export interface EncodedMessage {
  readonly id: string;
  readonly data: Uint8Array;
}

export interface Encoded<T = unknown> {
  readonly messages: readonly (EncodedMessage & {
    readonly items: readonly T[];
    readonly runIds: readonly string[];
  })[];
  /** Ids of the runs that fit into no message. */
  readonly tooLarge: readonly string[];
}

export const encodeTicks = (ticks: readonly Tick[], maxBytes = Infinity): Encoded<Tick> =>
  pack(TICKS, ticks, maxBytes);

export const encodeReports = (
  reports: readonly RunReport[],
  maxBytes = Infinity,
): Encoded<RunReport> => pack(REPORTS, reports, maxBytes);

export const encodeQuestion = (question: Heartbeat | CredentialsRequest): Uint8Array =>
  Buffer.from(JSON.stringify(question));

// The decoders throw an error that names the fault and quotes nothing: the content may be secret.

export const decodeTicks = (data: Uint8Array, locationId: string): Tick[] =>
  unpack("ticks", data, tickValidator, locationId);

export const decodeReports = (data: Uint8Array, locationId: string): RunReport[] =>
  unpack("reports", data, runReportValidator, locationId);

export const decodeHeartbeat = (data: Uint8Array, locationId: string): Heartbeat =>
  checked("heartbeat", parse(data), heartbeatValidator, locationId);

export const encodeHeartbeatAnswer = (answer: HeartbeatAnswer): Uint8Array =>
  Buffer.from(JSON.stringify(answer));

/** Throws for anything else. */
export const decodeHeartbeatAnswer = (data: Uint8Array): HeartbeatAnswer =>
  heartbeatAnswerValidator.parse(parse(data));

export const decodeCredentialsRequest = (data: Uint8Array, locationId: string) =>
  checked("the request", parse(data), credentialsRequestValidator, locationId);

export const encodeCallCredentials = (credentials: CallCredentials): Uint8Array =>
  Buffer.from(JSON.stringify(credentials));

/** Throws for anything else. */
export const decodeCallCredentials = (data: Uint8Array): CallCredentials =>
  callCredentialsValidator.parse(parse(data));

type Batch = "ticks" | "reports";

interface Packing<T> {
  readonly name: Batch;
  readonly runIdOf: (item: T) => string;
  /** Identifies an item that is published again. */
  readonly keyOf: (item: T) => string;
}

const TICKS: Packing<Tick> = {
  name: "ticks",
  runIdOf: ({ result_id }) => result_id,
  keyOf: ({ result_id }) => result_id,
};

// An agent's reports of a run are the same. Those of two agents differ: one made the call, the
// other came too late for it.
const REPORTS: Packing<RunReport> = {
  name: "reports",
  runIdOf: ({ run_id }) => run_id,
  keyOf: ({ run_id, agent_id }) => `${run_id} ${agent_id}`,
};

function pack<T>(
  { name, runIdOf, keyOf }: Packing<T>,
  items: readonly T[],
  maxBytes: number,
): Encoded<T> {
  const envelopeBytes = `{"${name}":[]}`.length;
  const messages: Encoded<T>["messages"][number][] = [];
  const tooLarge: string[] = [];
  let [packed, parts, bytes]: [T[], string[], number] = [[], [], 0];
  const finish = (): void => {
    if (parts.length === 0) return;
    const data = Buffer.from(`{"${name}":[${parts.join(",")}]}`);
    const id = messageId(packed.map(keyOf));
    messages.push({ id, data, items: packed, runIds: packed.map(runIdOf) });
    [packed, parts, bytes] = [[], [], 0];
  };
  for (const item of items) {
    const part = JSON.stringify(item);
    const size = Buffer.byteLength(part) + 1;
    if (envelopeBytes + size > maxBytes) {
      tooLarge.push(runIdOf(item));
      continue;
    }
    const full = envelopeBytes + bytes + size > maxBytes || parts.length === MAX_REPORTS_PER_BATCH;
    if (full) finish();
    packed.push(item);
    parts.push(part);
    bytes += size;
  }
  finish();
  return { messages, tooLarge };
}

const messageId = (keys: readonly string[]): string =>
  createHash("sha256").update(keys.join("\n")).digest("base64url");

function unpack<T extends { readonly location_id: string }>(
  name: Batch,
  data: Uint8Array,
  validator: Validator<T>,
  locationId: string,
): T[] {
  const items = (parse(data) as Partial<Record<Batch, unknown>> | null)?.[name];
  if (!Array.isArray(items) || items.length === 0) throw new Error(`the message holds no ${name}`);
  return items.map((item, at) => checked(`${name}[${at}]`, item, validator, locationId));
}

function parse(data: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(data));
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
