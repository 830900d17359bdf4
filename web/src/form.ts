// Sending a form: busy while it is under way, and what the interface refuses, at its field.
import { useState } from "preact/hooks";
import { faultOf, faultsBeside, missingFrom, standing } from "./faults.ts";

export interface Sending {
  readonly isBusy: boolean;
  readonly submit: (event: Event) => void;
  /** Carries out something else than `save` in the same way. */
  readonly attempt: (work: () => Promise<unknown>) => Promise<void>;
  /** What is wrong with the field of this path, such as `meta.name`, or with a part of it. */
  readonly faultAt: (path: string) => string | undefined;
  /** What went wrong, unless fields of these paths show it. */
  readonly faultBeside: (...paths: readonly string[]) => Error | null;
}

export interface SentForm {
  /** What the fields come to now: the fault of a field goes when the field is changed. */
  readonly body: object;
  /** The paths of its properties that may not be empty. */
  readonly required?: readonly string[] | undefined;
}

interface Refusal {
  readonly faults: readonly string[];
  /** What was refused. */
  readonly body: object;
}

/** `save` rejects with what the form is to show. The first field that is wrong takes the focus. */
export function useSending(
  save: () => Promise<unknown>,
  { body, required = [] }: SentForm = { body: {} },
): Sending {
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
  const send = async (form: HTMLFormElement): Promise<void> => {
    const missing = missingFrom(body, required);
    if (missing.length > 0) setRefusal({ faults: missing, body });
    else await attempt(save);
    requestAnimationFrame(() => form.querySelector<HTMLElement>(INVALID)?.focus());
  };
  return {
    isBusy,
    submit(event) {
      event.preventDefault();
      if (!isBusy) void send(event.currentTarget as HTMLFormElement);
    },
    attempt,
    faultAt: (path) => faultOf(faults, path),
    faultBeside: (...paths) => {
      const beside = faultsBeside(faults, paths);
      return beside.length > 0 ? new Error(beside.join("; ")) : null;
    },
  };
}

const INVALID = "[aria-invalid='true']";
