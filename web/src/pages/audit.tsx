// The audit trail: who changed which of the owner's objects, when and from where.
import { useState } from "preact/hooks";
import { withQuery } from "../api.ts";
import { deletedIn, keyWords, placeOf } from "../audit.ts";
import type { AuditEntry, KeysById, NamedKey, ObjectPlace } from "../audit.ts";
import { readAll, useList } from "../lists.ts";
import { TextField } from "../parts/field.tsx";
import { MoreButton } from "../parts/more-button.tsx";
import { NeedsLevel } from "../parts/needs-level.tsx";
import { Empty, Fault, Loading } from "../parts/notice.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { instantOf, Time, zoneName } from "../parts/time.tsx";
import { useQuery, useRead } from "../queries.ts";
import { has, session } from "../session.ts";

export function Audit() {
  const [from, setFrom] = useState("");
  const [to, setTo] = useState("");
  if (!has("OWNER"))
    return (
      <>
        <PageHead title="Audit" />
        <NeedsLevel level="OWNER" does="see who changed what" />
      </>
    );
  const zone = zoneName();
  return (
    <>
      <PageHead
        title="Audit"
        note="Who changed your objects, when and from where, without values. Newest first."
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

function Entries(range: { readonly from: string | undefined; readonly to: string | undefined }) {
  const { from, to } = range;
  const list = useList<AuditEntry>(["audit", from, to], withQuery("audit/", range));
  const isFiltered = from !== undefined || to !== undefined;
  return (
    <section class="card" aria-label="Entries">
      <Fault error={list.error} retry={list.refetch} />
      {!list.rows && !list.error && <Loading what="entries" />}
      {list.rows?.length === 0 && (
        <Empty title={isFiltered ? "No changes in this period" : "No changes yet"} />
      )}
      {list.rows && list.rows.length > 0 && <EntryTable rows={list.rows} />}
      <MoreButton list={list} />
    </section>
  );
}

function EntryTable({ rows }: { readonly rows: readonly AuditEntry[] }) {
  const keys = useKeys();
  const deleted = deletedIn(rows);
  return (
    <div class="scroll-x" role="region" aria-label="Entries, newest first" tabIndex={0}>
      <table class="blocks">
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
            <EntryRow key={entry.id} {...{ entry, keys, place: placeOf(entry, deleted) }} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function useKeys(): KeysById {
  interface Key extends NamedKey {
    readonly id: string;
  }
  return useQuery<KeysById>(["keys", "by id"], async ({ signal }) => {
    const keys = await readAll<Key>("api_keys/", signal);
    return new Map(keys.map((key) => [key.id, key]));
  }).data;
}

interface EntryRowProps {
  readonly entry: AuditEntry;
  readonly keys: KeysById;
  /** Undefined: the object is shown by its id. */
  readonly place: ObjectPlace | undefined;
}

const EntryRow = ({ entry, keys, place }: EntryRowProps) => (
  <tr>
    <th scope="row" class="whole">
      <Time at={entry.time} />
    </th>
    <td>{entry.action}</td>
    <td class="whole">
      {entry.kind.replaceAll("_", " ")}{" "}
      {place ? <NamedObject id={entry.object_id} place={place} /> : <code>{entry.object_id}</code>}
    </td>
    <td class={entry.fields.length > 0 ? "name whole" : "nothing"} data-label="Changed fields">
      {entry.fields.join(", ") || "–"}
    </td>
    <td class="whole" data-label="Who">
      <Actor entry={entry} keys={keys} />
    </td>
    <td class={entry.address === null ? "nothing" : "whole"} data-label="Address">
      {entry.address ?? "–"}
    </td>
  </tr>
);

interface Named {
  readonly meta: { readonly name: string };
}

/** Shows an object by its name; by its id until the name is known, or if it is gone. */
function NamedObject({ id, place }: { readonly id: string; readonly place: ObjectPlace }) {
  const { data } = useRead<Named>(["audit", "named", place.path], place.path);
  if (!data) return <code>{id}</code>;
  const { name } = data.meta;
  return (
    <>
      {place.page === undefined ? (
        <b class="name">{name}</b>
      ) : (
        <a class="name" href={place.page}>
          {name}
        </a>
      )}{" "}
      <code class="muted small">{id}</code>
    </>
  );
}

function Actor({ entry: { actor, owner }, keys }: Omit<EntryRowProps, "place">) {
  if (actor === null) return <>{owner ?? "someone"}, another owner</>;
  const words = keyWords(actor, keys, session.value?.key_id);
  if (words === undefined) return <>{actor}</>;
  return (
    <>
      {words} <code class="muted small">{actor}</code>
    </>
  );
}
