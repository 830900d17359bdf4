// Asks what to do when someone else has saved the object meanwhile. Belongs inside the form.
import type { Conflict } from "../editing.ts";
import { Dialog } from "./dialog.tsx";

interface ConflictDialogProps {
  /** Such as `call`. */
  readonly what: string;
  /** Undefined: none. */
  readonly conflict: Conflict | undefined;
}

export const ConflictDialog = ({ what, conflict }: ConflictDialogProps) =>
  conflict && (
    <Dialog title={`The ${what} has been changed`} onClose={conflict.onClose}>
      <p>
        It was saved elsewhere after you opened it here. Save your changes over that version,
        keeping the rest of it (lists, such as headers, are saved whole), or open it as it is now,
        without your changes.
      </p>
      <footer>
        <button class="button" type="button" onClick={conflict.onClose}>
          Keep editing
        </button>
        <button class="button" type="button" onClick={conflict.onReload}>
          Open it as it is now
        </button>
        <button class="button primary" type="submit" onClick={conflict.onOverwrite}>
          Save my changes
        </button>
      </footer>
    </Dialog>
  );
