// A button that deletes an object, after a confirmation.
import { useState } from "preact/hooks";
import { send } from "../api.ts";
import { focusMain } from "../focus.ts";
import { announce } from "./announcement.tsx";
import { Dialog } from "./dialog.tsx";
import { Fault } from "./notice.tsx";

interface DeleteButtonProps {
  /** Such as `the call "Search"`. */
  readonly what: string;
  /** Below the API's root. */
  readonly path: string;
  /** What is deleted with it, or stays. */
  readonly consequence?: string;
  readonly verb?: string;
  readonly onDeleted: () => unknown;
}

export function DeleteButton(props: DeleteButtonProps) {
  const { what, path, consequence, verb = "Delete", onDeleted } = props;
  const [isAsking, setAsking] = useState(false);
  const [fault, setFault] = useState<Error | null>(null);
  const ask = (): void => {
    setFault(null); // of the last attempt
    setAsking(true);
  };
  const confirm = async (): Promise<void> => {
    try {
      await send("DELETE", path);
      setAsking(false);
      announce(`${verb}d ${what}`);
      await onDeleted();
      // The row of the button is gone, and the focus with it.
      if (document.activeElement === document.body) focusMain();
    } catch (cause) {
      setFault(cause as Error);
    }
  };
  return (
    <>
      <button class="button danger" type="button" onClick={ask}>
        {verb}
        <span class="visually-hidden"> {what}</span>
      </button>
      {isAsking && (
        <Dialog title={`${verb} ${what}?`} onClose={() => setAsking(false)}>
          {consequence && <p>{consequence}</p>}
          <Fault error={fault} />
          <footer>
            <button class="button" type="button" onClick={() => setAsking(false)}>
              Cancel
            </button>
            <button class="button danger" type="button" onClick={() => void confirm()}>
              {verb}
            </button>
          </footer>
        </Dialog>
      )}
    </>
  );
}
