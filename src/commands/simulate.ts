// `sonde simulate`: fills the store with simulated results, and prints how many as one JSON object.
import { ensureLocation, FIRST_OWNER } from "../compose/first-start.ts";
import { simulationOn, weeksUpTo } from "../compose/simulation.ts";
import { invalid } from "../model/errors.ts";
import { formatPeriodTime } from "../model/instant.ts";
import { FREQUENCIES } from "../model/slots.ts";
import { show } from "../model/validate.ts";
import { systemClock } from "../runtime/clock.ts";
import { createLogger } from "../runtime/logger.ts";
import { fillStore, runsIn } from "../simulation/fill-store.ts";
import { planOf } from "../simulation/plan.ts";
import { ACTOR, actorIn, withStore } from "./command.ts";
import type { CommandInput } from "./command.ts";
import { createProgress } from "./progress.ts";
import { listenForStop } from "./stop-signal.ts";

const LIMITS = {
  calls: { least: 1, most: 10_000 },
  locations: { least: 1, most: 100 },
  weeks: { least: 1, most: 520 },
  seed: { least: 0, most: 4_294_967_295 },
} as const;

const DEFAULT_FREQUENCY = "5";
/** On a file, a service beside it waits its turn to write: for one transaction at most. */
const ON_FILE = { batch: 24, pause: 0.5 };
const ON_SERVER = { batch: 200, pause: 0 };

/** Rejects with one line if an option is missing or not allowed, or a signal ends it. */
export async function simulate({ config, values, print }: CommandInput): Promise<void> {
  const seed = numberIn(values, "seed", "1");
  const calls = numberIn(values, "calls");
  const locations = numberIn(values, "locations");
  const weeks = numberIn(values, "weeks");
  const frequency = frequencyIn(values);
  const { owner, org: owner_org } = actorIn(values) ?? { owner: FIRST_OWNER, org: null };
  const plan = planOf({ owner, owner_org, seed, calls, locations, frequency });
  const stop = stopSignal();
  await withStore(config, async (store) => {
    await ensureLocation(store, config.location, { served: false });
    const period = weeksUpTo(await store.now(), weeks);
    const total = runsIn({ plan, ...period });
    const progress = createProgress({ label: "simulating", total, unit: "results" });
    const started = systemClock.monotonic();
    const results = await fillStore({
      ...simulationOn({ log: createLogger("silent") }),
      ...period,
      store,
      plan,
      actor: ACTOR,
      ...(config.databaseUrl ? ON_SERVER : ON_FILE),
      signal: stop,
      onProgress: (runs) => progress.advance(runs),
    }).finally(() => progress.end());
    const seconds = (systemClock.monotonic() - started) / 1000;
    const made = {
      calls,
      locations,
      seed,
      from: formatPeriodTime(period.from),
      to: formatPeriodTime(period.until),
      results,
      seconds: Number(seconds.toFixed(1)),
      rows_per_second: Math.round(results / seconds),
    };
    print(`${JSON.stringify(made)}\n`);
  });
}

/** Throws, naming what is allowed, if the option is missing and has no default. */
function numberIn(
  values: CommandInput["values"],
  option: keyof typeof LIMITS,
  otherwise?: string,
): number {
  const { least, most } = LIMITS[option];
  const text = values[option] ?? otherwise;
  const allowed = `a whole number from ${least} to ${most}`;
  if (text === undefined) throw invalid(`simulate needs --${option}: ${allowed}`);
  const number = /^\d{1,10}$/.test(text) ? Number(text) : -1;
  if (number < least || number > most)
    throw invalid(`--${option}: ${show(text)} is not ${allowed}`);
  return number;
}

function frequencyIn({ frequency: text = DEFAULT_FREQUENCY }: CommandInput["values"]): number {
  const found = FREQUENCIES.find((frequency) => String(frequency) === text);
  if (found === undefined)
    throw invalid(`--frequency: ${show(text)} is not one of ${FREQUENCIES.join(", ")} minutes`);
  return found;
}

/** Aborts at Ctrl-C. */
function stopSignal(): AbortSignal {
  const controller = new AbortController();
  void listenForStop(systemClock).then((signal) =>
    controller.abort(
      new Error(`ended by ${signal} before it was complete: run the same command to complete it`),
    ),
  );
  return controller.signal;
}
