// Reads the statistics of reports, and builds the paths of their exports.
import { send, withQuery } from "./api.ts";
import type { ReportPeriod, StatGroup } from "./reports.ts";

interface ReportStats {
  readonly meta: { readonly more: boolean; readonly next_cursor: string };
  readonly groups: readonly StatGroup[];
}

/** Reads every group of a report, in one period. */
export async function readGroups(
  id: string,
  { kind, type, start }: Pick<ReportPeriod, "kind" | "type" | "start">,
  signal: AbortSignal,
): Promise<readonly StatGroup[]> {
  const groups: StatGroup[] = [];
  let cursor: string | undefined;
  do {
    const before = new Date(start).toISOString();
    const path = withQuery(`reports/${encodeURIComponent(id)}/stats/`, {
      kind,
      type,
      before,
      limit: 1,
      cursor,
    });
    const page = await send<ReportStats>("GET", path, { signal });
    groups.push(...page.groups);
    cursor = page.meta.more ? page.meta.next_cursor : undefined;
  } while (cursor !== undefined);
  return groups;
}

/** Returns the path of a report's export, below the API's root. */
export const exportPath = (
  id: string,
  {
    kind,
    type,
    from,
    to,
    format,
  }: Readonly<Record<"kind" | "type" | "from" | "to" | "format", string>>,
): string =>
  withQuery(`reports/${encodeURIComponent(id)}/export`, { kind, type, from, to, format });
