// Edits an object in a form: keeps a draft on top of its initial version, and saves it without
// losing other people's changes.
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, sendVersioned } from "./api.ts";
import type { Versioned } from "./api.ts";
import { changesOf } from "./changes.ts";
import { useSending } from "./form.ts";
import type { Sending } from "./form.ts";
import { announce } from "./announcement.tsx";
import { useShown } from "./shown.ts";

/** Someone else saved the object after it was opened here. */
export interface Conflict {
  readonly onClose: () => void;
  /** Starts over from the stored object. */
  readonly onReload: () => void;
  /** Called before the form is sent again, to save over the other version. */
  readonly onOverwrite: () => void;
}

interface EditingOptions<T, D> {
  /** The path of the API's list, such as `calls/`. */
  readonly path: string;
  /** Undefined: a new object. */
  readonly stored: Versioned<T> | undefined;
  /** Returns the initial draft; called without an argument for a new object. */
  readonly draftOf: (object?: T) => D;
  /** Returns the body of a draft. `object` is the one that the draft began with. */
  readonly bodyOf: (draft: D, object?: T) => object;
  /** Paths in the body that must not be empty. */
  readonly required?: readonly string[];
  /** Adds fields that the API requires in every change. `current`: the object being changed. */
  readonly completed?: (changes: object, current: T) => object;
  /** Called before the draft is sent; resolves to what changes in it. */
  readonly prepare?: (draft: D) => Promise<Partial<D>>;
  /** Not called while the draft has newer changes: the form stays open, to save these too. */
  readonly onSaved: (saved: Versioned<T>) => unknown;
  /** Called when the stored object has changed, but the form stays open. */
  readonly onReloaded: () => unknown;
}

export interface Editing<T, D> {
  readonly draft: D;
  readonly change: (changed: Partial<D>) => void;
  /** The object that the draft began with; undefined for a new one. */
  readonly object: T | undefined;
  readonly isChanged: boolean;
  /** Counts how often the draft started over: the key of fields that have their own state. */
  readonly round: number;
  readonly discard: () => void;
  readonly sending: Sending;
  readonly conflict: Conflict | undefined;
}

export function useEditing<T extends { readonly id: string }, D extends object>(
  options: EditingOptions<T, D>,
): Editing<T, D> {
  const { path, prepare, onSaved, onReloaded } = options;
  const { base, draft, setDraft, latest, round, changes, isChanged, newest, begin } =
    useDraft(options);
  const [isConflict, setConflict] = useState(false);
  const overwrites = useRef(false);
  const isShown = useShown();
  const save = async (): Promise<void> => {
    const isOverwriting = overwrites.current;
    overwrites.current = false;
    setConflict(false);
    const prepared = prepare && (await prepare(draft));
    if (prepared) setDraft((now) => ({ ...now, ...prepared }));
    const ready = { ...draft, ...prepared };
    try {
      const on = base && isOverwriting ? await readAgain(path, base.object) : base;
      const saved = on
        ? await update(options, on, changes(ready))
        : await sendVersioned<T>("POST", path, { body: options.bodyOf(ready) });
      const typed = newerParts(latest.current, ready);
      begin(saved, typed);
      if (isShown() && Object.keys(typed).length === 0) await onSaved(saved);
      else if (!isShown()) {
        announce("Saved");
        await onReloaded();
      } else {
        announce("Saved, except for your changes since then");
        await onReloaded();
      }
    } catch (cause) {
      if (!(cause instanceof ApiError && cause.status === 412)) throw cause;
      setConflict(true);
    }
  };
  const body = options.bodyOf(draft, base?.object);
  const sending = useSending(save, { body, required: options.required });
  const reload = async (): Promise<void> => {
    setConflict(false); // the form behind the question shows what goes wrong
    if (base) begin(await readAgain(path, base.object));
    await onReloaded();
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
    discard: () => begin(newest()),
    sending,
    conflict: isConflict ? conflict : undefined,
  };
}

/** Keeps the draft and the version that it began with. */
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
  const latest = useRef(draft);
  latest.current = draft;
  /** A version that was read since then. */
  const newer = useRef<Versioned<T>>(undefined);
  const newest = () => newer.current ?? base;
  /** Starts over, apart from these parts of the draft. */
  const begin = (from: Versioned<T> | undefined, kept: Partial<D> = {}): void => {
    newer.current = undefined;
    const anew = draftOf(from?.object);
    const isKept = Object.keys(kept).length > 0;
    setBegun({ base: from, first: anew, round: isKept ? round : round + 1 });
    setDraft({ ...anew, ...kept });
  };
  const changes = (of: D) => changesOf(bodyOf(first, base?.object), bodyOf(of, base?.object));
  const isChanged = Object.keys(changes(draft)).length > 0;
  useEffect(() => {
    if (stored && stored.version !== base?.version) newer.current = stored;
  }, [stored?.version]);
  // Adopts a newer version once that loses no changes.
  useEffect(() => {
    if (!isChanged && newer.current) begin(newer.current);
  }, [stored?.version, isChanged]);
  return { base, draft, setDraft, latest, round, changes, isChanged, newest, begin };
}

/** Returns the parts of `draft` that `sent` has not. */
const newerParts = <D extends object>(draft: D, sent: D): Partial<D> =>
  Object.fromEntries(
    Object.entries(draft).filter(([name, value]) => value !== sent[name as keyof D]),
  ) as Partial<D>;

const objectPath = (path: string, { id }: { readonly id: string }): string =>
  `${path}${encodeURIComponent(id)}/`;

const readAgain = <T extends { readonly id: string }>(path: string, object: T) =>
  sendVersioned<T>("GET", objectPath(path, object));

function update<T extends { readonly id: string }, D>(
  { path, completed }: EditingOptions<T, D>,
  { object, version }: Versioned<T>,
  changes: object,
): Promise<Versioned<T>> {
  return sendVersioned<T>("PUT", objectPath(path, object), {
    body: completed ? completed(changes, object) : changes,
    ...(version !== null && { headers: { "if-match": version } }),
  });
}
