// A report as its form edits it: groups and rows have keys, by which the page tells them apart.
import type { Report } from "../../src/model/report.ts";

export interface DraftRow {
  readonly key: number;
  readonly call_id: string;
  readonly location_id: string;
}

export interface DraftGroup {
  readonly key: number;
  readonly name: string;
  readonly rows: readonly DraftRow[];
}

export interface ReportDraft {
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly org: boolean;
  readonly public: boolean;
  readonly groups: readonly DraftGroup[];
}

let keys = 0;
const keyed = <T extends object>(one: T): T & { readonly key: number } => ({ ...one, key: ++keys });

export const newRow = (call_id: string, location_id: string): DraftRow =>
  keyed({ call_id, location_id });

export const newGroup = (name: string): DraftGroup => keyed({ name, rows: [] });

/** Without a report, returns the draft of a new one. */
export const draftOf = (report?: Report): ReportDraft => ({
  name: report?.meta.name ?? "",
  description: report?.meta.description ?? "",
  tags: report?.meta.tags ?? [],
  org: report?.access.org ?? false,
  public: report?.access.public ?? false,
  groups: report
    ? report.groups.map(({ name, rows }) =>
        keyed({ name, rows: rows.map((row) => newRow(row.call_id, row.location_id)) }),
      )
    : [newGroup("All")],
});

export function bodyOf(draft: ReportDraft): object {
  const { name, description, tags, org, public: everyone } = draft;
  return {
    meta: { name, description: description === "" ? null : description, tags },
    access: { org, public: everyone },
    groups: groupsOf(draft),
  };
}

const groupsOf = ({ groups }: ReportDraft) =>
  groups.map(({ name, rows }) => ({
    name,
    rows: rows.map(({ call_id, location_id }) => ({ call_id, location_id })),
  }));
