// `sonde simulate`: fills the store with simulated results, and prints how many as one JSON object.
import type { Command } from "commander";
import { ensureLocation, FIRST_OWNER } from "../compose/first-start.ts";
import { invalid } from "../model/errors.ts";
import { formatPeriodTime } from "../model/instant.ts";
import { FREQUENCIES } from "../model/slots.ts";
import { show } from "../model/validate.ts";
import { systemClock } from "../runtime/clock.ts";
import { examples } from "./command.ts";
import type { Context } from "./command.ts";
import { actorIn, addOwnerOptions, wholeNumberOf } from "./option-values.ts";
import type { OwnerOptions } from "./option-values.ts";
import { createProgress } from "./progress.ts";
import { abortOnStop } from "./stop-signal.ts";
import { ACTOR, withNewStore } from "./with-store.ts";

const DEFAULT_FREQUENCY = 5;
/** On a file, a running service waits for its turn to write: for at most one transaction. */
const ON_FILE = { batch: 24, pause: 0.5 };
const ON_SERVER = { batch: 200, pause: 0 };

interface SimulateOptions extends OwnerOptions {
  readonly calls: number;
  readonly locations: number;
  readonly weeks: number;
  readonly seed: number;
  /** Minutes. */
  readonly frequency: number;
}

export function addSimulateCommand(program: Command, context: Context): void {
  const simulate = program
    .command("simulate")
    .summary("Fill the store with simulated results.")
    .description("Fill the store with simulated results: see docs/simulation.md.")
    .requiredOption("--calls <number>", "1 to 10000", wholeNumberOf("--calls", 1, 10_000))
    .requiredOption("--locations <number>", "1 to 100", wholeNumberOf("--locations", 1, 100))
    .requiredOption("--weeks <number>", "1 to 520", wholeNumberOf("--weeks", 1, 520))
    .option(
      "--frequency <minutes>",
      "minutes from one run to the next",
      frequencyOf,
      DEFAULT_FREQUENCY,
    )
    .option(
      "--seed <number>",
      "same seed, same results",
      wholeNumberOf("--seed", 0, 4_294_967_295),
      1,
    );
  addOwnerOptions(simulate, `owner of the calls (default: ${FIRST_OWNER})`)
    .addHelpText("after", examples("sonde simulate --calls 10 --locations 3 --weeks 4"))
    .action((options: SimulateOptions) => fillWithResults(context, options));
}

/** Rejects with one line if a signal ends it. */
async function fillWithResults(context: Context, options: SimulateOptions): Promise<void> {
  const { calls, locations, weeks, seed, frequency } = options;
  const { owner, org: owner_org } = actorIn(options) ?? { owner: FIRST_OWNER, org: null };
  const config = context.config();
  const { simulationOn, weeksUpTo } = await import("../compose/simulation.ts");
  const { createLogger } = await import("../runtime/logger.ts");
  const { fillStore, runsIn } = await import("../simulation/fill-store.ts");
  const { planOf } = await import("../simulation/plan.ts");
  const plan = planOf({ owner, owner_org, seed, calls, locations, frequency });
  using stop = abortOnStop(
    (signal) => `ended by ${signal} before it was complete: run the same command to complete it`,
  );
  await withNewStore(config, async (store) => {
    await ensureLocation(store, config.location, { served: false });
    const period = weeksUpTo(await store.now(), weeks);
    const total = runsIn({ plan, ...period });
    const progress = createProgress({ label: "simulating", total, unit: "results" });
    const started = systemClock.monotonic();
    const results = await fillStore({
      ...simulationOn(createLogger("silent")),
      ...period,
      store,
      plan,
      actor: ACTOR,
      ...(config.databaseUrl ? ON_SERVER : ON_FILE),
      signal: stop.signal,
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
    context.print(`${JSON.stringify(made)}\n`);
  });
}

/** Parses minutes. Throws an error that names the allowed values. */
function frequencyOf(text: string): number {
  const found = FREQUENCIES.find((frequency) => String(frequency) === text);
  if (found === undefined)
    throw invalid(`--frequency: ${show(text)} is not one of ${FREQUENCIES.join(", ")} minutes`);
  return found;
}
