// The audit trail: who changed which of the owner's objects, when and from where.
import { useAddress } from "../address.ts";
import { deletedIn, keyWords, placeOf } from "../audit.ts";
import type { AuditEntry, ObjectPlace } from "../audit.ts";
import { useCalls } from "../call-names.ts";
import { instantIn } from "../clock.ts";
import type { Deployment } from "../deployments.ts";
import { useList } from "../lists.ts";
import { nameOfLocation, useLocations } from "../locations.tsx";
import { InstantField } from "../parts/field.tsx";
import { MoreButton } from "../parts/more-button.tsx";
import { NeedsLevel } from "../parts/needs-level.tsx";
import { Empty, Fault, Loading } from "../parts/notice.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Time } from "../parts/time.tsx";
import { ScrollRegion } from "../parts/scroll-region.tsx";
import { useRead } from "../queries.ts";
import { has, session } from "../session.ts";

export function AuditPage() {
  const [query, change] = useAddress();
  const [from, to] = [instantIn(query["from"]), instantIn(query["to"])];
  if (!has("OWNER"))
    return (
      <>
        <PageHead title="Audit" />
        <NeedsLevel level="OWNER" does="see who changed what" />
      </>
    );
  return (
    <>
      <PageHead
        title="Audit"
        note="Who changed your objects, when and from where, without values. Newest first."
      />
      <div class="row">
        <InstantField label="From" value={from} onInput={(at) => change({ from: at })} />
        <InstantField label="Before" value={to} onInput={(at) => change({ to: at })} />
      </div>
      <Entries from={from} to={to} />
    </>
  );
}

function Entries({ from, to }: { readonly from: string; readonly to: string }) {
  const list = useList<AuditEntry>(["audit"], "audit/", { filters: { from, to } });
  const isFiltered = from !== "" || to !== "";
  return (
    <section class="card" aria-label="Entries">
      <Fault error={list.error} retry={list.refetch} />
      {!list.rows && !list.error && <Loading what="entries" />}
      {list.rows?.length === 0 && (
        <Empty title={isFiltered ? "No changes in this period" : "No changes yet"} />
      )}
      {list.rows && list.rows.length > 0 && <EntryTable rows={list.rows} isOld={list.isOld} />}
      <MoreButton list={list} />
    </section>
  );
}

interface EntryTableProps {
  readonly rows: readonly AuditEntry[];
  readonly isOld: boolean;
}

function EntryTable({ rows, isOld }: EntryTableProps) {
  const deleted = deletedIn(rows);
  return (
    <ScrollRegion label="Entries, newest first" isOld={isOld}>
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
            <EntryRow key={entry.id} {...{ entry, place: placeOf(entry, deleted) }} />
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}

interface EntryRowProps {
  readonly entry: AuditEntry;
  /** Undefined: the object is shown by its id. */
  readonly place: ObjectPlace | undefined;
}

const EntryRow = ({ entry, place }: EntryRowProps) => (
  <tr>
    <th scope="row" class="whole">
      <Time at={entry.time} />
    </th>
    <td>{entry.action}</td>
    <td class="whole">
      {entry.kind.replaceAll("_", " ")} <AuditObject entry={entry} place={place} />
    </td>
    <td class={entry.fields.length > 0 ? "name whole" : "nothing"} data-label="Changed fields">
      {entry.fields.join(", ") || "–"}
    </td>
    <td class="whole" data-label="Who">
      <Actor entry={entry} />
    </td>
    <td class={entry.address === null ? "nothing" : "whole"} data-label="Address">
      {entry.address ?? "–"}
    </td>
  </tr>
);

function AuditObject({ entry: { object_id, object_key }, place }: EntryRowProps) {
  if (place) return <NamedObject id={object_id} place={place} />;
  if (object_key?.name == null) return <code>{object_id}</code>;
  return (
    <>
      <b class="name">{object_key.name}</b> <code class="muted small">{object_id}</code>
    </>
  );
}

interface Named {
  readonly meta: { readonly name: string };
}

const keyOf = (path: string | undefined) => ["audit", "named", path];

/** Shows an object by its name; by its id until the name is known, or if it is gone. */
function NamedObject({ id, place }: { readonly id: string; readonly place: ObjectPlace }) {
  const { data } = useRead<Named | Deployment>(keyOf(place.path), place.path);
  if (!data) return <code>{id}</code>;
  if ("deployment" in data) return <Deployed by={data} />;
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

/** Shows a deployment, which has no name, by its target and its location. */
function Deployed({ by: { id, deployment } }: { readonly by: Deployment }) {
  const { target_id, location_id } = deployment;
  const call = useCalls([target_id])?.get(target_id);
  const path = call === null ? `workflows/${target_id}/` : undefined;
  const { data: workflow } = useRead<Named>(keyOf(path), path);
  const page = call ? `calls/${target_id}` : `workflows/${target_id}`;
  const name = (call ?? workflow)?.meta.name;
  const at = nameOfLocation(useLocations(), location_id);
  return (
    <>
      {name !== undefined && (
        <>
          of{" "}
          <a class="name" href={page}>
            {name}
          </a>
        </>
      )}{" "}
      at <span class="name">{at}</span> <code class="muted small">{id}</code>
    </>
  );
}

function Actor({ entry: { actor, actor_key, owner } }: Pick<EntryRowProps, "entry">) {
  if (actor === null) return <>{owner ?? "someone"}, another owner</>;
  if (actor_key === null) return <>{actor}</>;
  const words = actor === session.value?.key_id ? "Your key" : keyWords(actor_key);
  return (
    <>
      {words} <code class="muted small nowrap">{actor}</code>
    </>
  );
}
