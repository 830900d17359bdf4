// A button that deletes an object, after a confirmation.
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { ApiError, send } from "../api.ts";
import { focusMain } from "../focus.ts";
import { announce } from "../announcement.tsx";
import { Dialog } from "./dialog.tsx";
import { Fault } from "./notice.tsx";

interface DeleteButtonProps {
  /** Such as `the call "Search"`. */
  readonly what: string;
  /** Below the API's root. */
  readonly path: string;
  /** Says what is deleted with it, or stays. */
  readonly consequence?: ComponentChildren;
  readonly verb?: string;
  readonly onDeleted: () => unknown;
}

export function DeleteButton(props: DeleteButtonProps) {
  const { what, path, consequence, verb = "Delete", onDeleted } = props;
  const [isAsking, setAsking] = useState(false);
  const [fault, setFault] = useState<Error | null>(null);
  /** Whether an attempt had no certain answer: the object may be deleted already. */
  const isUnsure = useRef(false);
  const ask = (): void => {
    setFault(null); // of the last attempt
    setAsking(true);
  };
  const isSending = useRef(false);
  const confirm = async (): Promise<void> => {
    if (isSending.current) return;
    isSending.current = true;
    try {
      await send("DELETE", path).catch((cause: unknown) => {
        const status = cause instanceof ApiError ? cause.status : undefined;
        if (isUnsure.current && status === 404) return;
        isUnsure.current ||= status === 0 || (status !== undefined && status >= 500);
        throw cause;
      });
      setAsking(false);
      announce(`${verb}d ${what}`);
      await onDeleted();
      // The row of the button is gone, and the focus with it.
      if (document.activeElement === document.body) focusMain();
    } catch (cause) {
      setFault(cause as Error);
    } finally {
      isSending.current = false;
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
