// Answers agents whose tick has an expired token: returns the current credentials of one call of a
// run in flight.
import { ANSWER_MS } from "../bus/bus.ts";
import type { Consumer } from "../bus/bus.ts";
import type { CallCredentials, CredentialsRequest } from "../model/call-credentials.ts";
import { stepIds } from "../runtime/ids.ts";
import type { Service } from "../runtime/lifecycle.ts";
import { createSemaphore } from "../runtime/semaphore.ts";
import { buildTicks } from "./build-tick.ts";
import type { Dispatcher } from "./dispatch.ts";

/** Requests answered at a time: the others leave the database to the scheduler. */
const PLACES = 4;

/** Answers agents' requests while they still wait. */
export function createCredentialsService(dispatcher: Pick<Dispatcher, "store" | "bus">): Service {
  const places = createSemaphore(PLACES);
  let consumer: Consumer | undefined;
  return {
    name: "credentials of calls",
    async start() {
      consumer = await dispatcher.bus.consumeCredentialsRequests(async (request, answer) => {
        const tooLate = AbortSignal.timeout(ANSWER_MS);
        answer(await places.run(tooLate, () => credentialsOf(dispatcher, request)));
      });
    },
    async stop() {
      await consumer?.drain();
    },
  };
}

/**
 * Returns the credentials that the run's tick would carry if published now. Empty unless the run is
 * planned for this location, published, without an outcome, and makes this call.
 */
async function credentialsOf(
  { store }: Pick<Dispatcher, "store">,
  { location_id, run_id, result_id }: CredentialsRequest,
): Promise<CallCredentials> {
  const run = await store.pendingRuns.getPublished(run_id);
  if (!run?.call_ids || run.location_id !== location_id) return {};
  if (!stepIds(run.due_time, run_id, run.call_ids.length).includes(result_id)) return {};
  const { ticks, unable } = await buildTicks(store, [run]);
  const [tick, reason] = [ticks[0], unable[0]?.message];
  if (!tick) return reason === undefined ? {} : { unable: reason };
  const asked = tick.calls.find((call) => call.result_id === result_id);
  const { authorization, unable: fault } = asked ?? {};
  return {
    ...(authorization && { authorization }),
    ...(fault !== undefined && { unable: fault }),
  };
}
