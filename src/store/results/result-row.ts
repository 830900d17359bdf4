// Converts between a result and its rows: columns for queries by lists, statistics and the ledger,
// the rest packed beside them.
import type { Selectable } from "kysely";
import type { Context } from "../../model/context.ts";
import type { Content } from "../../model/content.ts";
import { formatInstant, parseInstant } from "../../model/instant.ts";
import { categoryOf, timeOfResult } from "../../model/result.ts";
import type { ReportedResult, Result, ResultCode } from "../../model/result.ts";
import { toStorableText } from "../../model/storable.ts";
import type { Trigger } from "../../model/tick.ts";
import { fromMicros, phasesInMicros, toMicros } from "../../model/timing.ts";
import { takeExcluded } from "../bulk.ts";
import type { BulkInsert, BulkRow } from "../bulk.ts";
import { pack, unpack } from "../details.ts";
import type { Schema } from "../schema.ts";

type ResultRow = Selectable<Schema["results"]>;

/** The columns that hold the number of a name. */
const NAMED = [
  "owner",
  "call",
  "workflow",
  "deployment",
  "location",
  "agent",
  "trigger",
  "result",
  "domain",
  "source_ip",
  "dest_ip",
] as const;

/** The names whose numbers the result's row will hold. */
export const namesOfResult = (owner: string, { meta }: ReportedResult): string[] =>
  [
    owner,
    meta.call_id,
    meta.workflow_id,
    meta.deployment_id,
    meta.location_id,
    meta.agent_id,
    meta.trigger,
    meta.result,
    meta.domain,
    meta.source_ip,
    meta.dest_ip,
  ].filter((name) => name !== null);

/** The numbers of names in the rows. */
export const numbersIn = (rows: readonly ResultRow[]): (number | null)[] =>
  rows.flatMap((row) => NAMED.map((column) => row[column]));

/** Names the columns one by one: an agent of a newer version may send more fields. */
export function toRow(
  owner: string,
  result: ReportedResult,
  numberOf: (name: string) => number,
): BulkRow<keyof ResultRow> {
  const { id, meta, timing } = result;
  const instantOf = (text: string): number => parseInstant(text) as number;
  const optional = (name: string | null) => (name === null ? null : numberOf(name));
  return {
    id,
    owner: numberOf(owner),
    call: numberOf(meta.call_id),
    workflow: optional(meta.workflow_id),
    deployment: optional(meta.deployment_id),
    location: numberOf(meta.location_id),
    agent: optional(meta.agent_id),
    trigger: numberOf(meta.trigger),
    result: numberOf(meta.result),
    domain: numberOf(meta.domain),
    source_ip: optional(meta.source_ip),
    dest_ip: optional(meta.dest_ip),
    workflow_result_id: meta.workflow_result_id,
    trigger_time: instantOf(meta.trigger_time),
    due_time: instantOf(meta.due_time),
    time: timeOfResult(meta),
    started: Number(meta.start_time !== null),
    end_time: meta.end_time === null ? null : instantOf(meta.end_time),
    message: meta.message && toStorableText(meta.message),
    http_code: meta.http_code,
    request_size: meta.request_size,
    response_size: meta.response_size,
    redirects: meta.redirects,
    is_late: Number(meta.is_late),
    ...phasesInMicros(timing),
    total: toMicros(timing.total),
    uncertainty: toMicros(timing.uncertainty ?? null),
  };
}

type Details = Pick<ReportedResult, "request" | "response" | "hops" | "certificate"> & {
  readonly url: string;
};

const NO_DETAILS: Details = { url: "", request: null, response: null, hops: [], certificate: null };

/** Undefined for a call that was deleted before its run was missed. */
export function toDetailsRow(
  result: ReportedResult,
): BulkRow<"result_id" | "details" | "content"> | undefined {
  const { id, meta, request, response, hops, certificate, content: body } = result;
  if (meta.url === "" && !request && !response && !body) return undefined;
  const { url } = meta;
  // Named one by one: an agent of a newer version may send more.
  const content = body && {
    content_type: body.content_type,
    encoding: body.encoding,
    size: body.size,
    content: body.content,
    reason: body.reason,
  };
  return {
    result_id: id,
    details: pack({ url, request, response, hops, certificate } satisfies Details),
    content: content ? pack(content) : null,
  };
}

/** Kept in the table of details, as long as those of the calls of the workflow's run. */
export const toContextRow = (
  workflowResultId: string,
  context: Context,
): BulkRow<"result_id" | "details" | "content"> => ({
  result_id: workflowResultId,
  details: pack({ context }),
  content: null,
});

export function toResult(
  row: ResultRow & { readonly details: Uint8Array | null },
  nameOf: (number: number) => string,
): Result {
  const name = (number: number | null) => (number === null ? null : nameOf(number));
  const { url, ...details } = row.details ? (unpack(row.details) as Details) : NO_DETAILS;
  const result = nameOf(row.result) as ResultCode;
  return {
    id: row.id,
    meta: {
      call_id: nameOf(row.call),
      workflow_id: name(row.workflow),
      workflow_result_id: row.workflow_result_id,
      deployment_id: name(row.deployment),
      location_id: nameOf(row.location),
      agent_id: name(row.agent),
      trigger: nameOf(row.trigger) as Trigger,
      trigger_time: formatInstant(row.trigger_time),
      due_time: formatInstant(row.due_time),
      start_time: row.started === 1 ? formatInstant(row.time) : null,
      end_time: row.end_time === null ? null : formatInstant(row.end_time),
      result,
      result_category: categoryOf(result),
      message: row.message,
      domain: nameOf(row.domain),
      url,
      http_code: row.http_code,
      source_ip: name(row.source_ip),
      dest_ip: name(row.dest_ip),
      request_size: row.request_size,
      response_size: row.response_size,
      redirects: row.redirects,
      is_late: row.is_late === 1,
    },
    timing: {
      dns: fromMicros(row.dns),
      tcp: fromMicros(row.tcp),
      handshake: fromMicros(row.handshake),
      upload: fromMicros(row.upload),
      processing: fromMicros(row.processing),
      download: fromMicros(row.download),
      total: fromMicros(row.total),
      uncertainty: fromMicros(row.uncertainty),
    },
    ...details,
    hops: details.hops.map(({ timing, ...hop }) => ({
      ...hop,
      timing: { ...timing, uncertainty: timing.uncertainty ?? null },
    })),
  };
}

export const toContext = (packed: Uint8Array): Context =>
  (unpack(packed) as { readonly context: Context }).context;

export const toContent = (packed: Uint8Array): Content => unpack(packed) as Content;

const COLUMNS = {
  id: "text",
  owner: "integer",
  call: "integer",
  workflow: "integer",
  workflow_result_id: "text",
  deployment: "integer",
  location: "integer",
  agent: "integer",
  trigger: "integer",
  trigger_time: "bigint",
  due_time: "bigint",
  time: "bigint",
  started: "integer",
  end_time: "bigint",
  result: "integer",
  message: "text",
  domain: "integer",
  http_code: "integer",
  source_ip: "integer",
  dest_ip: "integer",
  request_size: "bigint",
  response_size: "bigint",
  redirects: "integer",
  is_late: "integer",
  dns: "bigint",
  tcp: "bigint",
  handshake: "bigint",
  upload: "bigint",
  processing: "bigint",
  download: "bigint",
  total: "bigint",
  uncertainty: "bigint",
} as const;

/** All columns: SQLite reads named ones faster than `*`. */
export const RESULT_COLUMNS = (Object.keys(COLUMNS) as (keyof ResultRow)[]).map(
  (column) => `results.${column}` as const,
);

export const INSERT_RESULTS: BulkInsert<keyof ResultRow> = {
  into: "results",
  columns: COLUMNS,
  onConflict: `on conflict (id) do update set ${takeExcluded(Object.keys(COLUMNS))}`,
};

export const INSERT_DETAILS: BulkInsert<"result_id" | "details" | "content"> = {
  into: "result_details",
  columns: { result_id: "text", details: "bytea", content: "bytea" },
  onConflict: `on conflict (result_id) do update set ${takeExcluded(["details", "content"])}`,
};
