// The head of a call's page: its description, its state and its actions.
import type { Call } from "../../../../src/model/call.ts";
import type { Versioned } from "../../api.ts";
import type { CallNow } from "../../call-overview.ts";
import { useLocations } from "../../locations.tsx";
import { DeleteCall } from "../../parts/delete-call.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { CallState } from "../../parts/call-state.tsx";
import { RunButton } from "../../parts/run-now.tsx";
import { State } from "../../parts/state.tsx";
import { Tags } from "../../parts/tags.tsx";
import { has, mayChange } from "../../session.ts";

interface CallHeadProps {
  readonly stored: Versioned<Call>;
  /** The call's state at its locations; undefined: not read; null: not shared. */
  readonly now: CallNow | null | undefined;
  /** Deploys the call; undefined: the reader may neither run nor deploy it. */
  readonly onDeploy: (() => void) | undefined;
}

export function CallHead({ stored, now, onDeploy }: CallHeadProps) {
  const { meta } = stored.object;
  return (
    <PageHead
      title={meta.name}
      above={{ to: "calls", name: "Calls" }}
      note={<Note call={stored.object} now={now} />}
    >
      {onDeploy && (
        <>
          <RunButton />
          <button class="button" type="button" onClick={onDeploy}>
            Deploy
          </button>
        </>
      )}
      <Actions stored={stored} />
    </PageHead>
  );
}

interface NoteProps extends Pick<CallHeadProps, "now"> {
  readonly call: Call;
}

function Note({ call: { meta, access, request }, now }: NoteProps) {
  const places = useLocations();
  return (
    <div class="stack note">
      <div class="row">
        {now === undefined ? (
          <State tone="none" word="…" />
        ) : (
          <CallState now={now} places={places} />
        )}
        <span class="mono">
          {request.method} {request.url}
        </span>
      </div>
      {meta.description && <p>{meta.description}</p>}
      <div class="row">
        <Tags tags={meta.tags} />
        <span class="small">
          Owner: {meta.owner}
          {sharingOf(access)}
        </span>
      </div>
    </div>
  );
}

function sharingOf({ settings, results, stats, org }: Call["access"]): string {
  const parts = [settings && "call", results && "results", stats && "statistics"].filter(Boolean);
  const circles = [
    ...(parts.length > 0 ? [`everyone (${parts.join(", ")})`] : []),
    ...(org ? ["the organization"] : []),
  ];
  return circles.length > 0 ? `, shared with ${circles.join(" and ")}` : "";
}

function Actions({ stored }: { readonly stored: Versioned<Call> }) {
  const { id } = stored.object;
  if (!has("EDITOR")) return null;
  const isChangeable = mayChange(stored);
  return (
    <>
      {isChangeable && (
        <a class="button" href={`calls/${id}/edit`}>
          Edit
        </a>
      )}
      <a class="button" href={`calls/new?from=${id}`}>
        Duplicate
      </a>
      {isChangeable && <DeleteCall call={stored.object} />}
    </>
  );
}
