// The head of a call's page: what it is, how it is now, and what can be done with it.
import { useLocation } from "preact-iso";
import type { Call } from "../../../../src/model/call.ts";
import { pathOf } from "../../address.ts";
import { DeleteButton } from "../../parts/delete-button.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { wordOf } from "../../parts/run-state.tsx";
import { State, toneOf } from "../../parts/state.tsx";
import { Tags } from "../../parts/tags.tsx";
import { invalidate } from "../../queries.ts";
import { has, isMine } from "../../session.ts";
import type { ListedResult } from "./sample.ts";

interface CallHeadProps {
  readonly call: Call;
  /** The newest results; undefined: not read yet. */
  readonly latest: readonly ListedResult[] | undefined;
  /** What starts it now, and what has it run again and again; undefined: they are not offered. */
  readonly onRun: (() => void) | undefined;
  readonly onDeploy: (() => void) | undefined;
}

export function CallHead({ call, latest, onRun, onDeploy }: CallHeadProps) {
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
      {onDeploy && (
        <button class="button" type="button" onClick={onDeploy}>
          Deploy
        </button>
      )}
      <Actions call={call} />
    </PageHead>
  );
}

function Note({ call: { meta, request }, latest }: Pick<CallHeadProps, "call" | "latest">) {
  const last = latest?.find(
    ({ meta: { end_time, result } }) => end_time !== null || result === "MISSED",
  );
  return (
    <div class="stack note">
      <div class="row">
        <State
          tone={toneOf(last?.meta.result, last?.meta.result_category)}
          {...(!latest && { word: "…" })}
          {...(last?.meta.result_category === null && { word: wordOf(last.meta) })}
        />
        <span class="mono">
          {request.method} {request.url}
        </span>
      </div>
      {meta.description && <p>{meta.description}</p>}
      <div class="row">
        <Tags tags={meta.tags} />
        <span class="small">Owner: {meta.owner}</span>
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
