// Covers a page with unsaved changes when its reader is signed out: the reader signs in again and
// continues, or discards the changes.
import { giveUp, interruption, session } from "../session.ts";
import { Dialog } from "./dialog.tsx";
import { KeyForm } from "./key-form.tsx";

export function Interruption() {
  if (!interruption.value) return null;
  const { by } = interruption.value;
  const { owner, access_level } = session.value ?? {};
  return (
    <Dialog title="Sign in again" isCover onClose={() => undefined}>
      <p>
        {by
          ? `This browser is now signed in as ${by.owner} (${by.access_level}).`
          : "Your session has ended."}{" "}
        Your unsaved changes are still here. Sign in with a key of {owner} ({access_level}) to
        continue.
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
