// The head of a call's page: what it is, how it is now, and what can be done with it.
import { useLocation } from "preact-iso";
import type { Call } from "../../../../src/model/call.ts";
import { pathOf } from "../../address.ts";
import { CallScore } from "../../parts/call-score.tsx";
import { DeleteButton } from "../../parts/delete-button.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { State, toneOf } from "../../parts/state.tsx";
import { Tags } from "../../parts/tags.tsx";
import { invalidate } from "../../queries.ts";
import { has, isMine } from "../../session.ts";
import type { ListedResult } from "./sample.ts";

interface CallHeadProps {
  readonly call: Call;
  /** The newest results; undefined: not read yet. */
  readonly latest: readonly ListedResult[] | undefined;
  /** Undefined: whoever is signed in may not run it. */
  readonly onRun?: (() => void) | undefined;
}

export function CallHead({ call, latest, onRun }: CallHeadProps) {
  const { meta } = call;
  return (
    <PageHead
      title={meta.name}
      above={{ to: "calls", name: "Calls" }}
      note={<Note call={call} latest={latest} />}
    >
      {onRun && (
        <button class="button primary" type="button" onClick={onRun}>
          Run now
        </button>
      )}
      <Actions call={call} />
    </PageHead>
  );
}

function Note({ call: { id, meta, request }, latest }: Omit<CallHeadProps, "onRun">) {
  const last = latest?.find(
    ({ meta: { end_time, result } }) => end_time !== null || result === "MISSED",
  );
  return (
    <div class="stack note">
      <div class="row">
        {latest && (
          <State
            tone={toneOf(last?.meta.result, last?.meta.result_category)}
            {...(last && last.meta.result_category === null && { word: last.meta.result })}
          />
        )}
        <span class="mono">
          {request.method} {request.url}
        </span>
      </div>
      {meta.description && <p>{meta.description}</p>}
      <div class="row">
        <Tags tags={meta.tags} />
        <span class="small">Owner: {meta.owner}</span>
        <CallScore id={id} />
      </div>
    </div>
  );
}

function Actions({ call: { id, meta } }: { readonly call: Call }) {
  const { route } = useLocation();
  if (!has("EDITOR")) return null;
  const mine = isMine(meta);
  return (
    <>
      {mine && (
        <a class="button" href={`calls/${id}/edit`}>
          Edit
        </a>
      )}
      <a class="button" href={`calls/new?from=${id}`}>
        Duplicate
      </a>
      {mine && (
        <DeleteButton
          what={`the call "${meta.name}"`}
          path={`calls/${id}/`}
          consequence="Its deployments end, and workflows and reports lose it. Results stay until retention removes them."
          onDeleted={async () => {
            await invalidate(["calls"], ["deployments"], ["workflows"], ["reports"]);
            route(pathOf("calls"));
          }}
        />
      )}
    </>
  );
}
