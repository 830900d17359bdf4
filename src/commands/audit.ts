// `sonde audit list`: prints the audit trail, a JSON object a line, oldest first.
import type { ParsedOptions } from "./arguments.ts";
import { invalid } from "../model/errors.ts";
import { formatInstant, parseInstant } from "../model/instant.ts";
import { show } from "../model/validate.ts";
import type { Store } from "../store/store.ts";

const DEFAULT_LIMIT = "100";
const MOST = 100_000;

export async function listAudit(
  store: Store,
  { values }: ParsedOptions,
  { print }: { readonly print: (text: string) => void },
): Promise<void> {
  const { since = "1970-01-01", limit = DEFAULT_LIMIT, owner } = values;
  const from = parseInstant(since);
  if (from === undefined)
    throw invalid(`--since: ${show(since)} is not an ISO 8601 date or date-time`);
  const most = /^\d{1,6}$/.test(limit) ? Number(limit) : 0;
  if (most < 1 || most > MOST)
    throw invalid(`--limit: ${show(limit)} is not a whole number from 1 to ${MOST}`);
  const entries = await store.audit.list({ since: from, owner, limit: most });
  for (const { time, ...entry } of entries)
    print(`${JSON.stringify({ time: formatInstant(time), ...entry })}\n`);
}
