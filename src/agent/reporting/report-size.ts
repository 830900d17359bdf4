// Fits reports into messages of the bus. The outcome and times of each call are always reported,
// details only where there is room.
import type { AgentBus } from "../../bus/bus.ts";
import { TooLargeError } from "../../bus/bus.ts";
import { withoutText } from "../../model/content.ts";
import type { ReportedResult, RunReport } from "../../model/result.ts";
import type { Logger } from "../../runtime/logger.ts";
import type { AgentMetrics } from "../metrics.ts";

// Bytes of JSON text. A message of the bus holds 1 MB; outcome and times take up to 3 KB a call.
const CONTENT_BYTES = 256 * 1024;
const DETAILS_BYTES = 512 * 1024;

/** Maximum characters kept of any other text from a server. */
const LONGEST_TEXT = 200;

const NOTE = "the report had no room for its details";

/**
 * Drops contents and details of requests and responses that do not fit into a message. Earlier
 * results take precedence.
 */
export function withinMessage(results: readonly ReportedResult[]): ReportedResult[] {
  if (surelyFits(results)) return [...results];
  const takesContent = createRoom(CONTENT_BYTES);
  const takesDetails = createRoom(DETAILS_BYTES);
  return results.map((result) => {
    const { content = null, ...details } = result;
    const fits = content?.content == null || takesContent(content.content);
    const shown = fits ? result : withoutContent(result);
    return takesDetails([details, content?.content_type]) ? shown : withoutDetails(shown);
  });
}

export interface FittingSettings {
  readonly bus: AgentBus;
  readonly log: Logger;
  readonly metrics: AgentMetrics;
}

/**
 * Publishes reports, those too large for the bus without details. Logs, counts and resolves with
 * the ids of runs that are still too large. Otherwise rejects as `Bus.publishReports` does.
 */
export async function publishFitting(
  { bus, log, metrics }: FittingSettings,
  reports: readonly RunReport[],
): Promise<readonly string[]> {
  const large = await publish(bus, reports);
  if (!large) return [];
  const named = reports.filter(({ run_id }) => large.runIds.includes(run_id));
  const never = await publish(bus, named.map(bareReport));
  if (!never) {
    log.warn({ err: large }, "reports too large: delivered without details");
    return [];
  }
  log.error({ err: never }, "reports too large even without details: dropped");
  metrics.spoolDropped.inc({ reason: "too_large" }, never.runIds.length);
  return never.runIds;
}

/** The bus has stored all reports that the returned error does not name. */
async function publish(
  bus: AgentBus,
  reports: readonly RunReport[],
): Promise<TooLargeError | undefined> {
  try {
    await bus.publishReports(reports);
    return undefined;
  } catch (cause) {
    if (cause instanceof TooLargeError) return cause;
    throw cause;
  }
}

/** Outcomes and times only, for a bus with smaller messages. */
export const bareReport = ({ context: _context, ...report }: RunReport): RunReport => ({
  ...report,
  results: report.results.map((result) => withoutDetails(withoutContent(result))),
});

// For one character, in UTF-8 or escaped.
const MOST_BYTES = 6;

/** By lengths alone, which most reports pass: serializing costs ten times more. */
function surelyFits(results: readonly ReportedResult[]): boolean {
  const most = (values: readonly unknown[]): number =>
    MOST_BYTES * values.reduce<number>((sum, value) => sum + jsonLength(value), 0);
  return (
    most(results) <= DETAILS_BYTES &&
    most(results.map(({ content }) => content?.content)) <= CONTENT_BYTES
  );
}

// A member's name with the characters around it. No member of a report has a longer one.
const NAME_LENGTH = 28;

/** An upper bound of the value's JSON text in characters, not counting escapes. */
export function jsonLength(value: unknown): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null) return 24;
  let length = 2;
  if (Array.isArray(value)) for (const part of value) length += NAME_LENGTH + jsonLength(part);
  else for (const name in value) length += NAME_LENGTH + jsonLength(value[name as keyof object]);
  return length;
}

function createRoom(bytes: number): (value: unknown) => boolean {
  let left = bytes;
  return (value) => {
    const taken = Buffer.byteLength(JSON.stringify(value));
    const fits = taken <= left;
    if (fits) left -= taken;
    return fits;
  };
}

const withoutContent = (result: ReportedResult): ReportedResult =>
  result.content?.content == null
    ? result
    : { ...result, content: withoutText(result.content, "report_full") };

function withoutDetails(result: ReportedResult): ReportedResult {
  const { meta, certificate, content } = result;
  const message = meta.message?.endsWith(NOTE)
    ? meta.message
    : [meta.message && cut(meta.message), NOTE].filter(Boolean).join("; ");
  return {
    ...result,
    meta: { ...meta, url: cut(meta.url), message },
    request: null,
    response: null,
    hops: [],
    ...(certificate && {
      certificate: {
        ...certificate,
        issuer: cut(certificate.issuer),
        subject: cut(certificate.subject),
      },
    }),
    ...(content?.content_type && {
      content: { ...content, content_type: cut(content.content_type) },
    }),
  };
}

const cut = (text: string): string => text.slice(0, LONGEST_TEXT);
