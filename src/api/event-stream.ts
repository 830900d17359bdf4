// One stream of server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html
import type { Principal } from "../model/access.ts";
import { formatInstant } from "../model/instant.ts";
import type { RecordedBatch, RecordedOutcome } from "../model/recorded.ts";
import { categoryOf } from "../model/result.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Events, Listening } from "./events.ts";

/** A quiet stream sends a comment this often: proxies must not close it. */
const QUIET_MS = 15_000;
/** How often to recheck the key and the session; with `QUIET_MS`, a stream ends within a minute. */
const CHECK_EVERY_MS = 45_000;
/** Per chunk of the answer. */
const EVENTS_AT_ONCE = 100;
const RECONNECT_AFTER_MS = 2000;

export interface EventStream {
  readonly events: Events;
  readonly clock: Clock;
  readonly principal: Principal;
  readonly session: string | undefined;
  /** The id of the last event that the caller has. */
  readonly lastId: string | undefined;
  readonly ended: AbortSignal;
}

/** Ends when the key is revoked, the session is over, or `ended` is aborted. */
export async function* eventStream(stream: EventStream): AsyncGenerator<string> {
  const listening = await stream.events.listen(stream.principal);
  try {
    yield* follow(stream, listening);
  } finally {
    listening.stop();
  }
}

async function* follow(stream: EventStream, listening: Listening): AsyncGenerator<string> {
  const { events, clock, principal, session, lastId, ended } = stream;
  let { place } = listening;
  yield `retry: ${RECONNECT_AFTER_MS}\n`;
  const resumed = lastId === undefined ? undefined : await batchOf(events, lastId);
  if (resumed) {
    place = resumed.batch.place;
    yield* eventsOf(stream, resumed.batch, resumed.sent);
  } else if (lastId !== undefined) yield "event: gap\ndata: {}\n";
  yield idOf(place.seq, WHOLE);
  let checked = clock.monotonic();
  while (!ended.aborted) {
    const batches = await events.next(place, QUIET_MS, ended);
    for (const batch of batches) {
      if (ended.aborted) return;
      yield* eventsOf(stream, batch, 0);
      place = batch.place;
    }
    if (batches.length === 0) yield `: ${formatInstant(clock.now())}\n${idOf(place.seq, WHOLE)}`;
    if (clock.monotonic() - checked < CHECK_EVERY_MS) continue;
    if (!(await events.holds(principal, session).catch(() => true))) return;
    checked = clock.monotonic();
  }
}

/** Stands for all outcomes of a batch: more than any has. */
const WHOLE = 999_999;

/** Identifies a batch, and how many of its outcomes were sent. The empty line ends the event. */
const idOf = (seq: number, sent: number): string => `id: ${seq}-${sent}\n\n`;

async function batchOf(
  events: Events,
  id: string,
): Promise<{ readonly batch: RecordedBatch; readonly sent: number } | undefined> {
  const [, seq, sent] = /^(\d{1,15})-(\d{1,6})$/.exec(id) ?? [];
  const batch = seq === undefined ? undefined : await events.find(Number(seq));
  return batch && { batch, sent: Number(sent) };
}

async function* eventsOf(
  { events, principal }: EventStream,
  { place, outcomes }: RecordedBatch,
  sent: number,
): AsyncGenerator<string> {
  const isReadable = await events.readable(principal, outcomes.slice(sent));
  for (let at = sent; at < outcomes.length; at += EVENTS_AT_ONCE) {
    let text = "";
    for (const [n, outcome] of outcomes.slice(at, at + EVENTS_AT_ONCE).entries())
      if (isReadable(outcome)) text += `${eventOf(outcome)}${idOf(place.seq, at + n + 1)}`;
    if (text !== "") yield text;
  }
}

const eventOf = (outcome: RecordedOutcome): string =>
  `event: ${outcome.call_id === null ? "workflow_result" : "result"}\ndata: ${JSON.stringify(shown(outcome))}\n`;

const shown = ({ result, time, ...outcome }: RecordedOutcome) => ({
  ...outcome,
  result,
  result_category: categoryOf(result),
  time: formatInstant(time),
});
