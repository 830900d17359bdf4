// Makes a call, or changes one; then runs and deploys it.
import { useLocation } from "preact-iso";
import { useEffect, useState } from "preact/hooks";
import type { Call } from "../../../../src/model/call.ts";
import { pathOf } from "../../address.ts";
import { sendVersioned } from "../../api.ts";
import type { Versioned } from "../../api.ts";
import { DeleteButton } from "../../parts/delete-button.tsx";
import { Deployments } from "../../parts/deploy.tsx";
import { Empty, Fault, Loading } from "../../parts/notice.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { RunNow } from "../../parts/run-now.tsx";
import { invalidate } from "../../queries.ts";
import { has, isMine } from "../../session.ts";
import "../../styles/call-form.css";
import { CallEditor } from "./call-editor.tsx";
import type { SavedCall } from "./call-editor.tsx";
import { copyOf, draftOf, NEW_DRAFT } from "./call-draft.ts";

/** The call that was made to be run: its page runs it when it opens. */
let runsOnArrival: string | undefined;

/** `calls/new`, and `calls/new?from=ID` for a copy. */
export function NewCall() {
  const { query, route } = useLocation();
  const from = query["from"];
  const { read, error } = useCall(from);
  const title = from === undefined ? "New call" : "Copy of a call";
  if (!has("EDITOR")) return <ReadsOnly title={title} />;
  const saved = ({ object, isToRun }: SavedCall): void => {
    if (isToRun) runsOnArrival = object.id;
    route(pathOf(isToRun ? `calls/${object.id}/edit` : `calls/${object.id}`), isToRun);
  };
  return (
    <>
      <PageHead title={title} above={{ to: "calls", name: "Calls" }} />
      <Fault error={error} />
      {from !== undefined && !read && !error && <Loading what="the call" />}
      {(from === undefined || read) && (
        <CallEditor
          key={from}
          first={read ? copyOf(read.object) : NEW_DRAFT}
          stored={undefined}
          onSaved={saved}
        />
      )}
    </>
  );
}

/** `calls/ID/edit`. */
export function EditCall({ params: { id } }: { readonly params: { readonly id: string } }) {
  const { route } = useLocation();
  const { read, error, setRead, readAgain } = useCall(id);
  const [runs, setRuns] = useState(() => (runsOnArrival === id ? 1 : undefined));
  useEffect(() => {
    runsOnArrival = undefined;
  }, []);
  if (!has("EDITOR")) return <ReadsOnly title="Edit a call" />;
  if (!read) return error ? <Fault error={error} /> : <Loading what="the call" />;
  const { object: call, version } = read;
  if (!isMine(call.meta)) return <NotMine call={call} />;
  const saved = ({ isToRun, ...now }: SavedCall): void => {
    if (!isToRun) return route(pathOf(`calls/${id}`));
    setRead(now);
    setRuns((runs ?? 0) + 1);
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
        <DeleteButton
          what={`the call "${call.meta.name}"`}
          path={`calls/${id}/`}
          consequence="Its deployments go with it, and it leaves its workflows and reports. Its results are no longer shown."
          onDeleted={async () => {
            route(pathOf("calls"));
            await invalidate(["calls"]);
          }}
        />
      </PageHead>
      <div class="form-and-runs">
        <CallEditor
          key={version}
          first={draftOf(call)}
          stored={read}
          onSaved={saved}
          onReload={readAgain}
        />
        <div class="stack">
          <RunNow {...target} start={runs} />
          <Deployments {...target} />
        </div>
      </div>
    </>
  );
}

/** The call as it is now, with its version: read once, since a form edits what it began with. */
function useCall(id: string | undefined) {
  const [read, setRead] = useState<Versioned<Call>>();
  const [error, setError] = useState<Error | null>(null);
  const [times, setTimes] = useState(1);
  useEffect(() => {
    setRead(undefined);
    setError(null);
    if (id === undefined) return undefined;
    const leaving = new AbortController();
    sendVersioned<Call>("GET", `calls/${encodeURIComponent(id)}/`, { signal: leaving.signal })
      .then(setRead)
      .catch((cause: Error) => leaving.signal.aborted || setError(cause));
    return () => leaving.abort();
  }, [id, times]);
  return { read, error, setRead, readAgain: () => setTimes(times + 1) };
}

const ReadsOnly = ({ title }: { readonly title: string }) => (
  <>
    <PageHead title={title} above={{ to: "calls", name: "Calls" }} />
    <Empty title="Your key only reads">
      <p>Calls are made and changed with a key of level EDITOR or OWNER.</p>
    </Empty>
  </>
);

const NotMine = ({ call: { id, meta } }: { readonly call: Call }) => (
  <>
    <PageHead title={`Edit ${meta.name}`} above={{ to: `calls/${id}`, name: meta.name }} />
    <Empty title={`This call belongs to ${meta.owner}`}>
      <p>Only its owner can change it. A copy of it is yours.</p>
      <a class="button" href={`calls/new?from=${id}`}>
        Duplicate
      </a>
    </Empty>
  </>
);
