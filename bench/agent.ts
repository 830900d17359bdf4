// The agent's calls per second on one core and its CPU per call, compared with blackbox_exporter
// and a bare undici request over a fresh connection. All take turns on the same target.
import { inParallel } from "./support/load.ts";
import { startRole } from "./support/agent-role.ts";
import { runBenchmark } from "./support/benchmark.ts";
import { NO_BLACKBOX, startBlackbox } from "./support/blackbox.ts";
import { CONCURRENCY, measureCalls, startCaller } from "./support/caller.ts";
import type { Caller, Measured } from "./support/caller.ts";
import type { Figure, Goal } from "./support/figures.ts";
import { NO_NATS } from "./support/nats.ts";
import type { Scheme } from "./support/options.ts";
import { quantile } from "./support/statistics.ts";
import { NO_NGINX, startDelayServer, startNginx, writeCertificates } from "./support/target.ts";
import type { CertificateFiles } from "./support/target.ts";

/**
 * Enough that most of them are a backlog, whose starts the agent does not space, and that the last
 * report, which gathers for 250 ms, hardly counts.
 */
const CALLS = 16_000;
const SMOKE_CALLS = 30;
/** Rounds that warm up the compiler: it still gains after 20,000 calls. */
const WARM_UP = 2;

const NAMES = {
  bare: "bare undici",
  alone: "tick to report, in memory",
  agent: "agent over NATS",
  blackbox: "blackbox",
} as const;
type Name = keyof typeof NAMES;

/** Minimum ratio to the calls per second of blackbox_exporter. */
const RATE_GOALS: Readonly<Record<Scheme, Goal>> = {
  http: { ratioAtLeast: 1.3 },
  https: { ratioAtLeast: 1 },
};

await runBenchmark("agent", async ({ options, skip, say, add }) => {
  const files = writeCertificates();
  const nginx = await startNginx(files);
  if (!nginx) skip(`${NO_NGINX} (a server of Node stands in)`);
  await using target = nginx ?? (await startDelayServer(files, 0));
  for (const scheme of options.smoke ? (["http"] as const) : options.schemes) {
    say(scheme);
    const url = target.url(scheme, "agent");
    await using stack = new AsyncDisposableStack();
    const callers = new Map<Name, Caller>();
    if (!options.smoke) callers.set("bare", stack.use(startCaller("bare", url, files.authority)));
    callers.set("alone", stack.use(startCaller("agent", url, files.authority)));
    const agent = await startRole(url, files.authority);
    if (agent) callers.set("agent", stack.use(agent));
    else skip(NO_NATS);
    const blackbox = options.smoke ? undefined : await startProber(url, files);
    if (blackbox) callers.set("blackbox", stack.use(blackbox));
    else if (!options.smoke) skip(NO_BLACKBOX);

    const measured = new Map<Name, Measured[]>();
    const calls = options.smoke ? SMOKE_CALLS : CALLS;
    for (let round = options.smoke ? 0 : -WARM_UP; round < options.rounds; round += 1)
      for (const [name, caller] of callers) {
        const one = await caller.measure(calls);
        if (round >= 0) measured.set(name, [...(measured.get(name) ?? []), one]);
      }
    add(...figuresOf(scheme, measured));
  }
});

async function startProber(url: string, files: CertificateFiles): Promise<Caller | undefined> {
  const blackbox = await startBlackbox(files);
  return (
    blackbox && {
      async measure(calls) {
        let times: number[] = [];
        const measured = await measureCalls(blackbox.pid, calls, async () => {
          const all = Array.from({ length: calls });
          times = await inParallel(all, CONCURRENCY, () => blackbox.probe(url));
        });
        return { ...measured, times };
      },
      [Symbol.asyncDispose]: () => blackbox[Symbol.asyncDispose](),
    }
  );
}

function figuresOf(scheme: Scheme, measured: ReadonlyMap<Name, readonly Measured[]>): Figure[] {
  const cpu = (name: Name, beside: Name, goal?: Goal): Figure[] =>
    figure(`${scheme}: CPU a call, ${NAMES[name]}`, "ms", "cpu", name, beside, goal);
  const figure = (
    what: string,
    unit: string,
    field: "cpu" | "rate",
    name: Name,
    beside: Name,
    goal?: Goal,
  ): Figure[] => {
    const [rounds, yardstick] = [measured.get(name), measured.get(beside)];
    if (!rounds) return [];
    return [
      {
        what,
        unit,
        rounds: rounds.map((one) => one[field]),
        ...(yardstick && {
          beside: { what: NAMES[beside], rounds: yardstick.map((one) => one[field]) },
        }),
        ...(goal && { goal }),
      },
    ];
  };
  const rate = `${scheme}: ${NAMES.agent}`;
  return [
    ...figure(rate, "calls a second", "rate", "agent", "blackbox", RATE_GOALS[scheme]),
    ...cpu("agent", "blackbox"),
    ...cpu("agent", "bare"),
    ...cpu("alone", "bare", scheme === "http" ? { ratioAtMost: 1.5 } : undefined),
    ...timesOf(scheme, measured),
  ];
}

/** What the calls reported to have taken, while as many were made as possible. */
function timesOf(scheme: Scheme, measured: ReadonlyMap<Name, readonly Measured[]>): Figure[] {
  const rounds = (name: Name, share: number): number[] =>
    (measured.get(name) ?? []).map(({ times }) => quantile(times ?? [], share));
  if (!measured.has("agent")) return [];
  return [0.5, 0.99].map((share) => ({
    what: `${scheme}: time reported, p${share * 100}, ${NAMES.agent}`,
    unit: "ms",
    rounds: rounds("agent", share),
    ...(measured.has("blackbox") && {
      beside: { what: NAMES.blackbox, rounds: rounds("blackbox", share) },
    }),
  }));
}
