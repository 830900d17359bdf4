// The form of a call.
import { useRef, useState } from "preact/hooks";
import type { Call } from "../../../../src/model/call.ts";
import { ApiError, sendVersioned } from "../../api.ts";
import type { Versioned } from "../../api.ts";
import { readCurl } from "../../curl.ts";
import type { CurlReading, CurlRequest } from "../../curl.ts";
import { useSending } from "../../form.ts";
import { announce } from "../../parts/announcement.tsx";
import { Fault } from "../../parts/notice.tsx";
import { invalidate } from "../../queries.ts";
import { AuthFields, withSetting } from "./auth-fields.tsx";
import { bodyOf, changesOf, isChanged, withCurl } from "./call-draft.ts";
import type { CallDraft } from "./call-draft.ts";
import { ConflictDialog } from "./conflict-dialog.tsx";
import { CurlPaste } from "./curl-paste.tsx";
import { LeaveGuard } from "./leave-guard.tsx";
import { AccessFields, NameFields } from "./meta-fields.tsx";
import { RequestFields } from "./request-fields.tsx";

export interface SavedCall extends Versioned<Call> {
  readonly isToRun: boolean;
}

interface CallEditorProps {
  /** What the fields begin with. */
  readonly first: CallDraft;
  /** Undefined: the call is new. */
  readonly stored: Versioned<Call> | undefined;
  readonly onSaved: (saved: SavedCall) => void;
  /** Begins anew, with what is stored now. */
  readonly onReload?: () => void;
}

export function CallEditor({ first, stored, onSaved, onReload }: CallEditorProps) {
  const [begun] = useState(first);
  const [draft, setDraft] = useState(begun);
  const [isConflict, setConflict] = useState(false);
  const [isSaved, setSaved] = useState(false);
  /** What the button that was pressed asks for. */
  const wish = useRef({ isToRun: false, overwrites: false });
  const sending = useSending(async () => {
    const { isToRun, overwrites } = wish.current;
    setConflict(false);
    const ready = await withSetting(draft);
    setDraft(ready);
    try {
      const saved = await saveCall(begun, ready, stored, overwrites);
      setSaved(true);
      announce("Saved");
      await invalidate(["calls"]);
      onSaved({ ...saved, isToRun });
    } catch (cause) {
      if (!(cause instanceof ApiError && cause.status === 412)) throw cause;
      setConflict(true);
    }
  });
  const { reading, onCurl } = useCurl((request) => setDraft(withCurl(draft, request)));
  const part = {
    draft,
    onChange: (changed: Partial<CallDraft>) => setDraft({ ...draft, ...changed }),
    faultAt: sending.faultAt,
  };
  return (
    <form class="stack" onSubmit={sending.submit} noValidate>
      <LeaveGuard isChanged={!isSaved && isChanged(begun, draft)} />
      <Fault error={sending.faultBeside()} />
      {!stored && <CurlPaste reading={reading} onCurl={onCurl} />}
      <RequestFields {...part} onCurl={onCurl} />
      <AuthFields {...part} />
      <NameFields {...part} />
      <AccessFields {...part} />
      <SaveButtons
        isBusy={sending.isBusy}
        onChoose={(isToRun) => {
          wish.current = { isToRun, overwrites: false };
        }}
      />
      {isConflict && (
        <ConflictDialog
          onClose={() => setConflict(false)}
          onReload={() => onReload?.()}
          onOverwrite={() => {
            wish.current = { ...wish.current, overwrites: true };
          }}
        />
      )}
    </form>
  );
}

/** What was read of the last command, and what reads one; `fill` is given what it asks for. */
function useCurl(fill: (request: CurlRequest) => void) {
  const [reading, setReading] = useState<CurlReading>();
  const onCurl = (text: string): void => {
    const read = readCurl(text);
    setReading(read);
    if (!read.request) return;
    fill(read.request);
    announce("Filled in from the cURL command");
  };
  return { reading, onCurl };
}

interface SaveButtonsProps {
  readonly isBusy: boolean;
  readonly onChoose: (isToRun: boolean) => void;
}

const SaveButtons = ({ isBusy, onChoose }: SaveButtonsProps) => (
  <div class="row save-buttons">
    <button class="button primary" type="submit" disabled={isBusy} onClick={() => onChoose(false)}>
      Save
    </button>
    <button class="button" type="submit" disabled={isBusy} onClick={() => onChoose(true)}>
      Save and run
    </button>
  </div>
);

/** Changes what was changed here, and only the version that was read unless it `overwrites`. */
function saveCall(
  before: CallDraft,
  draft: CallDraft,
  stored: Versioned<Call> | undefined,
  overwrites: boolean,
): Promise<Versioned<Call>> {
  if (!stored) return sendVersioned("POST", "calls/", { body: bodyOf(draft) });
  const { object, version } = stored;
  return sendVersioned("PUT", `calls/${object.id}/`, {
    body: changesOf(before, draft),
    headers: version === null || overwrites ? {} : { "if-match": version },
  });
}
