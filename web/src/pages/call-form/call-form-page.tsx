// Creates or changes a call, then runs and deploys it.
import { useEffect, useState } from "preact/hooks";
import type { Call } from "../../../../src/model/call.ts";
import { SIMULATED_TAG } from "../../../../src/model/simulated.ts";
import { pathOf, useAddress } from "../../address.ts";
import { missingOf } from "../../api.ts";
import { DeleteCall } from "../../parts/delete-call.tsx";
import { Deployments } from "../../parts/deploy/deploy.tsx";
import { Empty, Fault, Loading } from "../../parts/notice.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { RunNow } from "../../parts/run-now.tsx";
import { useVersioned } from "../../queries.ts";
import { has, mayChange } from "../../session.ts";
import "../../styles/call-form.css";
import { CallEditor } from "./call-editor.tsx";
import type { SavedCall } from "./call-editor.tsx";
import { copyOf } from "./call-draft.ts";
import { useRouteFromHere } from "../../shown.ts";

const ABOVE = { to: "calls", name: "Calls" };
const EDIT = "Edit a call";

/** A new call that was saved to be run: its page runs it when it opens. */
let runsOnArrival: string | undefined;

/** `calls/new`, and `calls/new?from=ID` for a copy. */
export function NewCallPage() {
  const [query] = useAddress();
  const route = useRouteFromHere();
  const from = query["from"];
  const { data: read, error, refetch } = useCall(from);
  const title = from === undefined ? "New call" : "Copy of a call";
  if (!has("EDITOR")) return <ReadsOnly title={title} />;
  const saved = ({ object, isToRun }: SavedCall): void => {
    const to = isToRun ? `calls/${object.id}/edit` : `calls/${object.id}`;
    if (route(pathOf(to), true) && isToRun) runsOnArrival = object.id;
  };
  return (
    <>
      <PageHead title={title} above={ABOVE} />
      <Fault error={error} retry={refetch} />
      {from !== undefined && !read && !error && <Loading what="the call" />}
      {(from === undefined || read) && (
        <CallEditor
          key={from}
          {...(read && { first: copyOf(read.object, read.role) })}
          stored={undefined}
          onSaved={saved}
        />
      )}
    </>
  );
}

/** `calls/ID/edit`. */
export const EditCallPage = ({ params }: { readonly params: { readonly id: string } }) => (
  <StoredCall key={params.id} id={params.id} />
);

function StoredCall({ id }: { readonly id: string }) {
  const route = useRouteFromHere();
  const { data: read, error, refetch } = useCall(id);
  const [runs, setRuns] = useState(() => (runsOnArrival === id ? 1 : undefined));
  useEffect(() => {
    runsOnArrival = undefined;
  }, []);
  if (!has("EDITOR")) return <ReadsOnly title={EDIT} />;
  if (!read)
    return (
      <>
        <PageHead title={EDIT} above={ABOVE} />
        {error ? <Fault error={error} retry={refetch} /> : <Loading what="the call" />}
      </>
    );
  const { object: call } = read;
  if (!mayChange(read)) return <NotMine call={call} />;
  const saved = ({ isToRun }: SavedCall): void => {
    if (isToRun) setRuns((runs ?? 0) + 1);
    else route(pathOf(`calls/${id}`), true);
  };
  const target = { kind: "call", id, name: call.meta.name } as const;
  return (
    <>
      <PageHead
        title={`Edit ${call.meta.name}`}
        above={{ to: `calls/${id}`, name: call.meta.name }}
      >
        <a class="button" href={`calls/new?from=${id}`}>
          Duplicate
        </a>
        <DeleteCall call={call} />
      </PageHead>
      <Fault error={missingOf(error)} />
      <div class="form-and-runs">
        <CallEditor stored={read} onSaved={saved} />
        <div class="stack">
          <RunNow {...target} start={runs} page={`calls/${id}`} />
          <Deployments {...target} isSimulated={call.meta.tags.includes(SIMULATED_TAG)} />
        </div>
      </div>
    </>
  );
}

const useCall = (id: string | undefined) =>
  useVersioned<Call>(
    ["calls", "stored", id],
    id === undefined ? undefined : `calls/${encodeURIComponent(id)}/`,
  );

const ReadsOnly = ({ title }: { readonly title: string }) => (
  <>
    <PageHead title={title} above={ABOVE} />
    <Empty title="Your key is read-only">
      <p>You need an EDITOR or OWNER key to create or change calls.</p>
    </Empty>
  </>
);

const NotMine = ({ call: { id, meta } }: { readonly call: Call }) => (
  <>
    <PageHead title={`Edit ${meta.name}`} above={{ to: `calls/${id}`, name: meta.name }} />
    <Empty title={`This call belongs to ${meta.owner}`}>
      <p>Only its owner can change it. You can change a copy.</p>
      <a class="button" href={`calls/new?from=${id}`}>
        Duplicate
      </a>
    </Empty>
  </>
);
