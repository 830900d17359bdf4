// What of a run's results a message to the hub has room for. How each call ended is always told.
import { withoutText } from "../../model/content.ts";
import type { ReportedResult, RunReport } from "../../model/result.ts";

// In JSON text. A message of the bus holds 1 MB, and what is always told takes up to 3 KB a call.
const CONTENT_BYTES = 256 * 1024;
const DETAILS_BYTES = 512 * 1024;

/** Of what else a server may make long. Characters. */
const LONGEST_TEXT = 200;

const NOTE = "the report had no room for its details";

/**
 * Contents, and details of what was sent and received, that do not fit any more are left out: the
 * last ones first.
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

/** For a bus whose messages are smaller: how the calls ended. */
export const bareReport = (report: RunReport): RunReport => ({
  ...report,
  results: report.results.map((result) => withoutDetails(withoutContent(result))),
});

// Of a character, in UTF-8 or escaped.
const MOST_BYTES = 6;

/**
 * Told from lengths alone: as a rule it is so, and to write all of it down only to see that costs
 * ten times more.
 */
function surelyFits(results: readonly ReportedResult[]): boolean {
  const most = (values: readonly unknown[]): number =>
    MOST_BYTES * values.reduce<number>((sum, value) => sum + jsonLength(value), 0);
  return (
    most(results) <= DETAILS_BYTES &&
    most(results.map(({ content }) => content?.content)) <= CONTENT_BYTES
  );
}

// Of a member, with what stands around it. None of a report's is longer.
const NAME_LENGTH = 28;

/**
 * Characters of its JSON text, without escapes, or somewhat more; it is not written down for that.
 */
export function jsonLength(value: unknown): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null) return 24;
  let length = 2;
  for (const part of Array.isArray(value) ? value : Object.values(value))
    length += NAME_LENGTH + jsonLength(part);
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
