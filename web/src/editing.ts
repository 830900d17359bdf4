// An object in its form: a draft on top of the version that it began with, and how it is saved
// without losing what others saved meanwhile.
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, sendVersioned } from "./api.ts";
import type { Versioned } from "./api.ts";
import { changesOf } from "./changes.ts";
import { useSending } from "./form.ts";
import type { Sending } from "./form.ts";

/** Somebody else saved the object after it was opened here. */
export interface Conflict {
  readonly onClose: () => void;
  /** Begins anew, with what is stored now. */
  readonly onReload: () => void;
  /** Before the form is sent again. */
  readonly onOverwrite: () => void;
}

interface EditingOptions<T, D> {
  /** Of the interface's list, such as `calls/`. */
  readonly path: string;
  /** Undefined: a new object. */
  readonly stored: Versioned<T> | undefined;
  /** What the fields begin with; of a new object without an argument. */
  readonly draftOf: (object?: T) => D;
  /** What the draft comes to. `object`: that which it began with. */
  readonly bodyOf: (draft: D, object?: T) => object;
  /** Paths of the body that may not be empty. */
  readonly required?: readonly string[];
  /** What to send of a change, beside what differs. `current`: the object that it changes. */
  readonly completed?: (changes: object, current: T) => object;
  /** Carried out before the draft is sent. */
  readonly prepare?: (draft: D) => Promise<D>;
  readonly onSaved: (saved: Versioned<T>) => unknown;
  /** Called when it was opened anew, after somebody else changed it. */
  readonly onReloaded?: () => unknown;
}

export interface Editing<T, D> {
  readonly draft: D;
  readonly change: (changed: Partial<D>) => void;
  /** The object that the draft began with; undefined of a new one. */
  readonly object: T | undefined;
  readonly isChanged: boolean;
  /** How often the draft began anew: fields with a state of their own have it as their key. */
  readonly round: number;
  readonly discard: () => void;
  readonly sending: Sending;
  readonly conflict: Conflict | undefined;
}

export function useEditing<T extends { readonly id: string }, D extends object>(
  options: EditingOptions<T, D>,
): Editing<T, D> {
  const { path, prepare, onSaved, onReloaded } = options;
  const { base, draft, setDraft, round, changes, isChanged, begin } = useDraft(options);
  const [isConflict, setConflict] = useState(false);
  const overwrites = useRef(false);
  const save = async (): Promise<void> => {
    const isOverwriting = overwrites.current;
    overwrites.current = false;
    setConflict(false);
    const ready = prepare ? await prepare(draft) : draft;
    setDraft(ready);
    try {
      const on = base && isOverwriting ? await readAgain(path, base.object) : base;
      const saved = on
        ? await update(options, on, changes(ready))
        : await sendVersioned<T>("POST", path, { body: options.bodyOf(ready) });
      begin(saved);
      await onSaved(saved);
    } catch (cause) {
      if (!(cause instanceof ApiError && cause.status === 412)) throw cause;
      setConflict(true);
    }
  };
  const body = options.bodyOf(draft, base?.object);
  const sending = useSending(save, { body, required: options.required });
  const reload = async (): Promise<void> => {
    if (base) begin(await readAgain(path, base.object));
    setConflict(false);
    await onReloaded?.();
  };
  const conflict: Conflict = {
    onClose: () => setConflict(false),
    onReload: () => void sending.attempt(reload),
    onOverwrite: () => (overwrites.current = true),
  };
  return {
    draft,
    change: (changed) => setDraft((now) => ({ ...now, ...changed })),
    object: base?.object,
    isChanged,
    round,
    discard: () => begin(base),
    sending,
    conflict: isConflict ? conflict : undefined,
  };
}

/** What is edited, on top of what it began with. */
function useDraft<T, D extends object>({
  stored,
  draftOf,
  bodyOf,
}: Pick<EditingOptions<T, D>, "stored" | "draftOf" | "bodyOf">) {
  const [begun, setBegun] = useState(() => ({
    base: stored,
    first: draftOf(stored?.object),
    round: 0,
  }));
  const { base, first, round } = begun;
  const [draft, setDraft] = useState(first);
  const begin = (from: Versioned<T> | undefined): void => {
    const anew = draftOf(from?.object);
    setBegun({ base: from, first: anew, round: round + 1 });
    setDraft(anew);
  };
  const changes = (of: D) => changesOf(bodyOf(first, base?.object), bodyOf(of, base?.object));
  const isChanged = Object.keys(changes(draft)).length > 0;
  // A newer version is taken over unless there is something to lose.
  useEffect(() => {
    if (!isChanged && stored && stored.version !== base?.version) begin(stored);
  }, [stored?.version]);
  return { base, draft, setDraft, round, changes, isChanged, begin };
}

const pathOf = (path: string, { id }: { readonly id: string }): string =>
  `${path}${encodeURIComponent(id)}/`;

const readAgain = <T extends { readonly id: string }>(path: string, object: T) =>
  sendVersioned<T>("GET", pathOf(path, object));

function update<T extends { readonly id: string }, D>(
  { path, completed }: EditingOptions<T, D>,
  { object, version }: Versioned<T>,
  changes: object,
): Promise<Versioned<T>> {
  return sendVersioned<T>("PUT", pathOf(path, object), {
    body: completed ? completed(changes, object) : changes,
    ...(version !== null && { headers: { "if-match": version } }),
  });
}
