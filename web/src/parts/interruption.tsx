// Covers a page with unsaved changes when its reader is signed out: the reader signs in again and
// continues, or discards the changes.
import type { Principal } from "../../../src/model/access.ts";
import { giveUp, interruption, session } from "../session.ts";
import { Dialog } from "./dialog.tsx";
import { KeyForm } from "./key-form.tsx";

const nameOf = ({ owner, org, access_level }: Principal): string =>
  `${owner}${org === null ? "" : ` of ${org}`} (${access_level})`;

export function Interruption() {
  if (!interruption.value || !session.value) return null;
  const { by } = interruption.value;
  return (
    <Dialog title="Sign in again" isCover onClose={() => undefined}>
      <p>
        {by ? `This browser is now signed in as ${nameOf(by)}.` : "Your session has ended."} Your
        unsaved changes are still here. Sign in with a key of {nameOf(session.value)} to continue.
      </p>
      <KeyForm />
      <footer>
        <button class="button danger" type="button" onClick={giveUp}>
          Discard my changes
        </button>
      </footer>
    </Dialog>
  );
}
