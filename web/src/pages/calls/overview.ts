// Reads the overview of all calls, page by page, and keeps it up to date with events.
import { effect, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { send, withQuery } from "../../api.ts";
import type { List } from "../../api.ts";
import { isCounted, withOutcome } from "../../call-overview.ts";
import type { CallOverview } from "../../call-overview.ts";
import { onGap, onResult } from "../../events.ts";
import type { RecordedEvent } from "../../events.ts";
import { session } from "../../session.ts";

/** Undefined: none is read yet. */
export const calls = signal<readonly CallOverview[] | undefined>(undefined);
export const fault = signal<Error | null>(null);
/** Whether there are more to come. */
export const isReading = signal(false);

const [FIRST, MORE] = [100, 1000];
const PATCH_EVERY_MS = 500;
/** The interval for the numbers of the day: for many calls, they take the server seconds. */
const refreshMs = (count: number): number => (count <= MORE ? 60_000 : 600_000);
/** The delay of the day's numbers after an event, if calls are new or few. */
const NEWS_AFTER_MS = 5000;

let reading = new AbortController();

/** Shows the pages as they arrive the first time; later, all at once. */
export async function readCalls(): Promise<void> {
  reading.abort();
  reading = new AbortController();
  const { signal: ended } = reading;
  isReading.value = true;
  const isFirst = calls.value === undefined;
  try {
    const read: CallOverview[] = [];
    for (let cursor: string | undefined = ""; cursor !== undefined;) {
      const query = { limit: cursor === "" ? FIRST : MORE, cursor };
      const path = withQuery("calls/overview/", query);
      const page: List<CallOverview> = await send("GET", path, { signal: ended });
      read.push(...page.results);
      cursor = page.meta.more ? page.meta.next_cursor : undefined;
      if (isFirst || cursor === undefined) calls.value = [...read];
    }
    fault.value = null;
  } catch (cause) {
    if (!ended.aborted) fault.value = cause as Error;
  } finally {
    if (!ended.aborted) isReading.value = false;
  }
}

effect(() => {
  if (session.value === null) calls.value = undefined; // the next reader sees other calls
});

/** Reads the calls while the page is shown, and applies events. */
export function useCalls(): void {
  useEffect(() => {
    void readCalls();
    let heard: Heard = new Map();
    let soon: ReturnType<typeof setTimeout> | undefined;
    let refresh = setTimeout(readAgain, refreshMs(0));
    function readAgain(): void {
      refresh = setTimeout(readAgain, refreshMs(calls.peek()?.length ?? 0));
      if (!document.hidden) void readCalls();
    }
    const patching = setInterval(() => {
      if (heard.size === 0 || !calls.peek()) return;
      const isNews = patch(heard) || (calls.peek()?.length ?? 0) <= FIRST;
      // The answer may be older than these events, so they are applied to it again.
      if (isReading.peek()) return;
      heard = new Map();
      if (isNews)
        soon ??= setTimeout(() => {
          soon = undefined;
          void readCalls();
        }, NEWS_AFTER_MS);
    }, PATCH_EVERY_MS);
    const endings = [
      onResult((event) => {
        if (event.call_id === null) return;
        const known = heard.get(event.call_id);
        if (known) known.push(event);
        else heard.set(event.call_id, [event]);
      }),
      onGap(() => void readCalls()),
    ];
    return () => {
      clearTimeout(refresh);
      clearTimeout(soon);
      clearInterval(patching);
      for (const end of endings) end();
      reading.abort();
    };
  }, []);
}

/** Events by the id of the call. */
type Heard = Map<string, RecordedEvent[]>;

/** Returns whether an event is for a call not in the list, or is its first of the day to count. */
function patch(heard: Heard): boolean {
  let known = 0;
  calls.value = calls.peek()?.map((call) => {
    const events = heard.get(call.id);
    if (!events) return call;
    if (call.day?.count !== 0 || call.day.missed > 0 || !events.some(isCounted)) known += 1;
    return events.reduce<CallOverview>(withOutcome, call);
  });
  return known < heard.size;
}
