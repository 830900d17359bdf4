// Streams recorded results to the pages, and refreshes what they show.
import { effect, signal } from "@preact/signals";
import type { RecordedOutcome } from "../../src/model/recorded.ts";
import type { ResultCategory } from "../../src/model/result.ts";
import { urlOf, withQuery } from "./api.ts";
import { queries } from "./queries.ts";
import { interruption, noticeEnd, session } from "./session.ts";

export interface RecordedEvent extends Omit<RecordedOutcome, "time"> {
  readonly result_category: ResultCategory | null;
  /** ISO 8601. */
  readonly time: string;
}

/** The state of the event stream; `off`: the page is hidden, or nobody is signed in. */
export const liveState = signal<"off" | "live" | "reconnecting">("off");

const READ_AGAIN_EVERY_MS = 2000;
/** Browsers do not retry a stream that the server refused, so this module does. */
const TRY_AGAIN_AFTER_MS = 15_000;

type Listener<T> = (heard: T) => void;

const resultListeners = new Set<Listener<RecordedEvent>>();
const gapListeners = new Set<Listener<void>>();

/** Calls back for each recorded result. Returns a function that unsubscribes. */
export const onResult = (listener: Listener<RecordedEvent>): (() => void) =>
  subscribe(resultListeners, listener);

/** Calls back when events may have been missed: listeners must reload what they patched. */
export const onGap = (listener: Listener<void>): (() => void) => subscribe(gapListeners, listener);

function subscribe<T>(listeners: Set<T>, listener: T): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

let source: EventSource | undefined;
let lastId = "";
/** Whether the signed-in user has had a stream before. */
let wasOpen = false;
let retry: ReturnType<typeof setTimeout> | undefined;

/** Listens while someone is signed in and the page is visible. */
export function startEvents(): void {
  const isInView = signal(!document.hidden);
  document.addEventListener("visibilitychange", () => {
    isInView.value = !document.hidden;
  });
  effect(() => {
    if (session.value === null) [lastId, wasOpen] = ["", false];
    if (session.value && !interruption.value && isInView.value) open();
    else close();
  });
}

function close(): void {
  clearTimeout(retry);
  source?.close();
  source = undefined;
  liveState.value = "off";
}

function open(): void {
  close();
  const opened = new EventSource(urlOf(withQuery("events/", { last_event_id: lastId })));
  source = opened;
  liveState.value = "reconnecting";
  const isResumed = lastId !== "";
  opened.addEventListener("open", () => {
    liveState.value = "live";
    // The previous stream had no event, so there is no id to resume from.
    if (wasOpen && !isResumed) readEverythingAgain();
    wasOpen = true;
  });
  opened.addEventListener("error", () => {
    liveState.value = "reconnecting";
    if (opened.readyState !== EventSource.CLOSED) return;
    retry = setTimeout(open, TRY_AGAIN_AFTER_MS);
    void noticeEnd().catch(() => undefined); // perhaps the reason
  });
  const hear = (event: MessageEvent<string>): void => {
    lastId = event.lastEventId || lastId;
    const recorded = JSON.parse(event.data) as RecordedEvent;
    note(recorded);
    for (const listener of resultListeners) listener(recorded);
  };
  opened.addEventListener("result", hear);
  opened.addEventListener("workflow_result", hear);
  opened.addEventListener("gap", readEverythingAgain);
}

function readEverythingAgain(): void {
  void queries.invalidateQueries();
  for (const listener of gapListeners) listener();
}

/** Ids of the calls, workflows and runs with new outcomes. */
let changed = new Set<unknown>();
/** Queries that were being read when they changed: to read them at once would begin them anew. */
let postponed = new Set<string>();
let timer: ReturnType<typeof setTimeout> | undefined;

function note({ call_id, workflow_id, workflow_result_id }: RecordedEvent): void {
  for (const id of [call_id, workflow_id, workflow_result_id]) if (id !== null) changed.add(id);
  timer ??= setTimeout(readAgain, READ_AGAIN_EVERY_MS);
}

/** Invalidates the queries with a changed id as the second part of the key: `["calls", id, …]`. */
function readAgain(): void {
  const ids = changed;
  const hashes = postponed;
  changed = new Set();
  postponed = new Set();
  timer = undefined;
  void queries.invalidateQueries({
    predicate: ({ queryKey, queryHash, state }) => {
      if (!ids.has(queryKey[1]) && !hashes.has(queryHash)) return false;
      if (state.fetchStatus !== "fetching") return true;
      postponed.add(queryHash);
      return false;
    },
  });
  if (postponed.size > 0) timer = setTimeout(readAgain, READ_AGAIN_EVERY_MS);
}
