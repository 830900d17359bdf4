// The form of a call.
import { useRef, useState } from "preact/hooks";
import type { Call } from "../../../../src/model/call.ts";
import type { Versioned } from "../../api.ts";
import { readCurl } from "../../curl/curl.ts";
import type { CurlReading, CurlRequest } from "../../curl/curl.ts";
import { useEditing } from "../../editing.ts";
import { announce } from "../../announcement.tsx";
import { ConflictDialog } from "../../parts/conflict-dialog.tsx";
import { LeaveGuard } from "../../parts/leave-guard.tsx";
import { Fault } from "../../parts/notice.tsx";
import { invalidate } from "../../queries.ts";
import { AuthFields, withSetting } from "./auth-fields.tsx";
import { bodyOf, draftOf, withCurl } from "./call-draft.ts";
import type { CallDraft } from "./call-draft.ts";
import { CurlPaste } from "./curl-paste.tsx";
import { AccessFields, NameFields } from "./meta-fields.tsx";
import { RequestFields } from "./request-fields.tsx";

export interface SavedCall extends Versioned<Call> {
  readonly isToRun: boolean;
}

interface CallEditorProps {
  /** The initial fields of a new call. */
  readonly first?: CallDraft;
  /** Undefined: the call is new. */
  readonly stored: Versioned<Call> | undefined;
  readonly onSaved: (saved: SavedCall) => void;
}

/** Paths of the properties whose fields show their faults. */
const SHOWN = [
  "meta",
  ...["method", "url", "parameters", "headers", "body", "auth_id", "token_id"].map(
    (name) => `request.${name}`,
  ),
];

export function CallEditor({ first, stored, onSaved }: CallEditorProps) {
  /** Whether the button that was pressed asks for a run. */
  const isToRun = useRef(false);
  const editing = useEditing<Call, CallDraft>({
    path: "calls/",
    stored,
    draftOf: (call) => (call || !first ? draftOf(call) : first),
    bodyOf,
    required: ["request.url", "meta.name"],
    prepare: withSetting,
    onSaved: async (saved) => {
      announce("Saved");
      await invalidate(["calls"]);
      onSaved({ ...saved, isToRun: isToRun.current });
    },
    onReloaded: () => invalidate(["calls"]),
  });
  const { draft, change, isChanged, sending, conflict } = editing;
  const { reading, onCurl } = useCurl((...requests) => change(withCurl(draft, ...requests)));
  const part = { draft, onChange: change, faultAt: sending.faultAt };
  return (
    <form class="stack" onSubmit={sending.submit} noValidate>
      <LeaveGuard isChanged={isChanged || draft.basic !== null} />
      <Fault error={sending.faultBeside(...SHOWN)} />
      {(!stored || reading) && <CurlPaste reading={reading} onCurl={onCurl} />}
      <RequestFields {...part} onCurl={onCurl} />
      <AuthFields {...part} />
      <NameFields {...part} />
      <AccessFields {...part} />
      <SaveButtons
        isBusy={sending.isBusy}
        isUnsaved={stored !== undefined && isChanged}
        onChoose={(asked) => {
          isToRun.current = asked;
        }}
      />
      <ConflictDialog what="call" conflict={conflict} />
    </form>
  );
}

/** Returns the last reading, and a function that reads a command and passes `fill` its request. */
function useCurl(fill: (request: CurlRequest, before?: CurlRequest) => void) {
  const [reading, setReading] = useState<CurlReading>();
  const before = useRef<CurlRequest>(undefined);
  const onCurl = (text: string): void => {
    const read = readCurl(text);
    setReading(read);
    if (!read.request) return;
    fill(read.request, before.current);
    before.current = read.request;
    announce("Filled in from the cURL command");
  };
  return { reading, onCurl };
}

interface SaveButtonsProps {
  readonly isBusy: boolean;
  /** Whether a stored call has changes that "Run now" does not use. */
  readonly isUnsaved: boolean;
  readonly onChoose: (isToRun: boolean) => void;
}

const SaveButtons = ({ isBusy, isUnsaved, onChoose }: SaveButtonsProps) => (
  <div class="row save-buttons">
    <button class="button primary" type="submit" disabled={isBusy} onClick={() => onChoose(false)}>
      Save
    </button>
    <button class="button" type="submit" disabled={isBusy} onClick={() => onChoose(true)}>
      Save and run
    </button>
    {isUnsaved && <span class="muted small">Unsaved: runs use the last saved version.</span>}
  </div>
);
