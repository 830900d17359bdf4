// What to do where somebody else saved the call meanwhile. Stands inside the form.
import { Dialog } from "../../parts/dialog.tsx";

interface ConflictDialogProps {
  readonly onClose: () => void;
  readonly onReload: () => void;
  /** Called before the form is sent again. */
  readonly onOverwrite: () => void;
}

export const ConflictDialog = ({ onClose, onReload, onOverwrite }: ConflictDialogProps) => (
  <Dialog title="The call was changed meanwhile" onClose={onClose}>
    <p>
      It was saved elsewhere after you opened it here. Save your changes over it, and what you did
      not touch stays as it was saved there; or open it as it is now, without your changes.
    </p>
    <footer>
      <button class="button" type="button" onClick={onClose}>
        Keep editing
      </button>
      <button class="button" type="button" onClick={onReload}>
        Open it as it is now
      </button>
      <button class="button primary" type="submit" onClick={onOverwrite}>
        Save my changes
      </button>
    </footer>
  </Dialog>
);
