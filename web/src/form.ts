// Sending a form: busy while it is under way, and what the interface refuses, at its field.
import { useState } from "preact/hooks";
import { placeFault } from "./fault-place.ts";

export interface Sending {
  readonly isBusy: boolean;
  readonly submit: (event: Event) => void;
  /** Carries out something else than `save` in the same way. */
  readonly attempt: (work: () => Promise<unknown>) => Promise<void>;
  /** What is wrong with the field of this path, such as `meta.name`, or with a part of it. */
  readonly faultAt: (path: string) => string | undefined;
  /** What went wrong, unless a field of these paths shows it. */
  readonly faultBeside: (...paths: readonly string[]) => Error | null;
}

/** `save` rejects with what the form is to show. The first field that is wrong takes the focus. */
export function useSending(save: () => Promise<unknown>): Sending {
  const [fault, setFault] = useState<Error | null>(null);
  const [isBusy, setBusy] = useState(false);
  const at = fault ? placeFault(fault.message).path : undefined;
  const attempt = async (work: () => Promise<unknown>): Promise<void> => {
    setBusy(true);
    setFault(null);
    try {
      await work();
    } catch (cause) {
      setFault(cause as Error);
    } finally {
      setBusy(false);
    }
  };
  const send = async (form: HTMLFormElement): Promise<void> => {
    await attempt(save);
    requestAnimationFrame(() => form.querySelector<HTMLElement>(INVALID)?.focus());
  };
  return {
    isBusy,
    submit(event) {
      event.preventDefault();
      if (!isBusy) void send(event.currentTarget as HTMLFormElement);
    },
    attempt,
    faultAt: (path) => (at !== undefined && isWithin(at, path) ? fault?.message : undefined),
    faultBeside: (...paths) =>
      at !== undefined && paths.some((path) => isWithin(at, path)) ? null : fault,
  };
}

const INVALID = "[aria-invalid='true']";

const isWithin = (at: string, path: string): boolean =>
  at === path || at.startsWith(`${path}.`) || at.startsWith(`${path}[`);
