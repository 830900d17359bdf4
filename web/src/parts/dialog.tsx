// A modal dialog: the browser's own, which keeps the focus inside and restores it afterwards.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { inOneDirection } from "../direction.ts";
import { Fault, Loading } from "./notice.tsx";

interface DialogProps {
  readonly title: string;
  /** Called when the reader presses Escape; the dialog stays open while it is rendered. */
  readonly onClose: () => void;
  /** Whether it hides the page behind it. */
  readonly isCover?: boolean;
  readonly children: ComponentChildren;
}

/** Open for as long as it is rendered. */
export function Dialog({ title, onClose, isCover = false, children }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  const isRendered = useRef(true);
  useEffect(() => {
    const dialog = ref.current;
    const opener = document.activeElement;
    dialog?.showModal();
    return () => {
      isRendered.current = false; // its event comes later, when another dialog may be open
      dialog?.close();
      // The browser gives the focus back only if it closes the dialog itself.
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      class={isCover ? "cover" : undefined}
      aria-labelledby={id}
      onCancel={(event) => {
        if (!event.cancelable) return; // a second Escape in a row closes it regardless
        event.preventDefault();
        onClose();
      }}
      onClose={() => {
        if (!isRendered.current) return;
        ref.current?.showModal();
        onClose();
      }}
    >
      <div class="body">
        <h2 id={id}>{inOneDirection(title)}</h2>
        {children}
      </div>
    </dialog>
  );
}

interface FaultDialogProps extends Pick<DialogProps, "title" | "onClose"> {
  readonly error: Error;
  readonly retry: () => unknown;
}

/** Says why a dialog cannot show what it is about. */
export const FaultDialog = ({ title, error, retry, onClose }: FaultDialogProps) => (
  <Dialog title={title} onClose={onClose}>
    <Fault error={error} retry={retry} />
    <footer>
      <button class="button" type="button" onClick={onClose}>
        Close
      </button>
    </footer>
  </Dialog>
);

interface LoadingDialogProps extends Pick<DialogProps, "title" | "onClose"> {
  readonly what: string;
}

/** Stands for a dialog until its content is read: one that opened later would take the keys. */
export const LoadingDialog = ({ title, what, onClose }: LoadingDialogProps) => (
  <Dialog title={title} onClose={onClose}>
    <Loading what={what} />
    <footer>
      <button class="button" type="button" onClick={onClose}>
        Cancel
      </button>
    </footer>
  </Dialog>
);

interface DialogButtonsProps {
  /** What the form does. */
  readonly verb: string;
  readonly isBusy: boolean;
  readonly onCancel: () => void;
}

/** The buttons below the form of a dialog. */
export const DialogButtons = ({ verb, isBusy, onCancel }: DialogButtonsProps) => (
  <footer>
    <button class="button" type="button" onClick={onCancel}>
      Cancel
    </button>
    <button class="button primary" type="submit" disabled={isBusy}>
      {verb}
    </button>
  </footer>
);
