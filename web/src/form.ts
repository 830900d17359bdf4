// Sends a form: shows when it is busy, and the API's faults at their fields.
import { useState } from "preact/hooks";
import { faultOf, faultsBeside, missingFrom, standing } from "./faults.ts";

let wasSubmit = false;

// On a fast network, the first click of a double click is answered before the second one.
addEventListener(
  "click",
  (event) => {
    const isSubmit = (event.target as Element).closest("[type=submit]") !== null;
    if (isSubmit && wasSubmit && event.detail > 1) {
      event.preventDefault();
      event.stopPropagation();
    }
    wasSubmit = isSubmit;
  },
  { capture: true },
);

export type Sending = ReturnType<typeof useSending>;

export interface SentForm {
  /** What the fields hold now: a field's fault disappears when the field changes. */
  readonly body: object;
  /** Paths of the properties that must not be empty. */
  readonly required?: readonly string[] | undefined;
}

interface Refusal {
  readonly faults: readonly string[];
  /** The rejected body. */
  readonly body: object;
}

/** `save` rejects with the error to show. The first invalid field gets the focus. */
export function useSending(
  save: () => Promise<unknown>,
  { body, required = [] }: SentForm = { body: {} },
) {
  const [refusal, setRefusal] = useState<Refusal>();
  const [isBusy, setBusy] = useState(false);
  const faults = refusal ? standing(refusal.faults, refusal.body, body) : [];
  const attempt = async (work: () => Promise<unknown>): Promise<void> => {
    setBusy(true);
    setRefusal(undefined);
    try {
      await work();
    } catch (cause) {
      setRefusal({ faults: [(cause as Error).message], body });
    } finally {
      setBusy(false);
    }
  };
  const send = async (form: HTMLFormElement, button: HTMLElement | null): Promise<void> => {
    let focused = document.activeElement;
    requestAnimationFrame(() => {
      focused = document.activeElement; // once a dialog that sends the form is closed
    });
    const missing = missingFrom(body, required);
    if (missing.length > 0) setRefusal({ faults: missing, body });
    else await attempt(save);
    requestAnimationFrame(() => {
      const at = document.activeElement;
      // The reader may be typing elsewhere by now.
      if (at !== document.body && at !== focused && at !== button) return;
      const invalid = form.querySelector<HTMLElement>(INVALID);
      if (invalid) return invalid.focus();
      if (document.activeElement === document.body) button?.focus(); // lost while disabled
      form.querySelector(NOTICE)?.scrollIntoView({ block: "nearest" });
    });
  };
  return {
    isBusy,
    submit: (event: Event): void => {
      event.preventDefault();
      const { submitter } = event as SubmitEvent;
      if (!isBusy) void send(event.currentTarget as HTMLFormElement, submitter);
    },
    /** Runs something other than `save` in the same way. */
    attempt,
    /** Returns what is wrong with the field at this path, such as `meta.name`, or a part of it. */
    faultAt: (path: string): string | undefined => faultOf(faults, path),
    /** Returns the error, except faults shown by fields at these paths. */
    faultBeside: (...paths: readonly string[]): Error | null => {
      const beside = faultsBeside(faults, paths);
      return beside.length > 0 ? new Error(beside.join("; ")) : null;
    },
  };
}

const INVALID = "[aria-invalid='true']";
/** Faults of no input; in a long form, the button is far from them. */
const NOTICE = ".notice.fail, .fault:not(:empty)";
