// The audit trail: who changed what of the owner's, when and from where.
import { useState } from "preact/hooks";
import type { AuditAction } from "../../../src/model/audit.ts";
import { withQuery } from "../api.ts";
import { useList } from "../lists.ts";
import { TextField } from "../parts/field.tsx";
import { MoreButton } from "../parts/more-button.tsx";
import { NeedsLevel } from "../parts/needs-level.tsx";
import { Empty, Fault, Loading } from "../parts/notice.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { isLocalTime, Time } from "../parts/time.tsx";
import { has, session } from "../session.ts";

interface Entry {
  readonly id: string;
  readonly time: string;
  readonly actor: string | null;
  readonly owner: string | null;
  readonly address: string | null;
  readonly action: AuditAction;
  readonly kind: string;
  readonly object_id: string;
  readonly object_owner: string | null;
  readonly fields: readonly string[];
}

export function Audit() {
  const [from, setFrom] = useState("");
  const [to, setTo] = useState("");
  if (!has("OWNER"))
    return (
      <>
        <PageHead title="Audit" />
        <NeedsLevel level="OWNER" does="sees who changed what" />
      </>
    );
  const zone = isLocalTime.value ? "local time" : "UTC";
  return (
    <>
      <PageHead
        title="Audit"
        note="Who changed what of yours, when and from where; never the values. Newest first."
      />
      <div class="row">
        <TextField
          label={`From (${zone})`}
          value={from}
          onInput={setFrom}
          input={{ type: "datetime-local" }}
        />
        <TextField
          label={`To (${zone})`}
          value={to}
          onInput={setTo}
          input={{ type: "datetime-local" }}
        />
      </div>
      <Entries from={instantOf(from)} to={instantOf(to)} />
    </>
  );
}

/** Of a field's value, which has no zone. */
function instantOf(text: string): string | undefined {
  const date = new Date(isLocalTime.value ? text : `${text}Z`);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

function Entries(range: { readonly from: string | undefined; readonly to: string | undefined }) {
  const { from, to } = range;
  const list = useList<Entry>(["audit", from, to], withQuery("audit/", range));
  const isFiltered = from !== undefined || to !== undefined;
  return (
    <section class="card" aria-label="Entries">
      <Fault error={list.error} retry={list.refetch} />
      {!list.rows && !list.error && <Loading what="entries" />}
      {list.rows?.length === 0 && (
        <Empty
          title={isFiltered ? "Nothing was changed in this time" : "Nothing was changed yet"}
        />
      )}
      {list.rows && list.rows.length > 0 && <EntryTable rows={list.rows} />}
      <MoreButton list={list} />
    </section>
  );
}

const EntryTable = ({ rows }: { readonly rows: readonly Entry[] }) => (
  <div class="scroll-x">
    <table>
      <thead>
        <tr>
          <th scope="col">Time</th>
          <th scope="col">Action</th>
          <th scope="col">Object</th>
          <th scope="col">Changed fields</th>
          <th scope="col">Who</th>
          <th scope="col">Address</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((entry) => (
          <tr key={entry.id}>
            <td>
              <Time at={entry.time} />
            </td>
            <td>{entry.action}</td>
            <td>
              {entry.kind.replaceAll("_", " ")} <ObjectId entry={entry} />
            </td>
            <td class="name">{entry.fields.join(", ") || "–"}</td>
            <td>{actorOf(entry)}</td>
            <td>{entry.address ?? "–"}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

/** The pages of what has one. */
const PAGES: Readonly<Record<string, string>> = {
  call: "calls",
  workflow: "workflows",
  report: "reports",
  auth_setting: "settings",
};

function ObjectId({ entry }: { readonly entry: Entry }) {
  const { kind, object_id, action, object_owner } = entry;
  const page = PAGES[kind];
  const isThere = page !== undefined && action !== "delete" && object_owner === null;
  const id = <code>{object_id}</code>;
  return isThere ? <a href={`${page}/${encodeURIComponent(object_id)}`}>{id}</a> : id;
}

function actorOf({ actor, owner }: Entry) {
  if (actor === null) return `${owner ?? "somebody"}, another owner`;
  return (
    <>
      <code>{actor}</code>
      {actor === session.value?.key_id && " (your key)"}
    </>
  );
}
