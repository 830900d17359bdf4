// The whole service as an operator runs it: real processes on NATS and PostgreSQL, with calls due
// every minute, and a check of its ledger.
import { expect, vi } from "vitest";
import { systemClock } from "../../src/runtime/clock.ts";
import type { Store } from "../../src/store/store.ts";
import type { Schedule } from "../../src/store/records.ts";
import { deployMany, expectLedger, openDisposable, outcomesOf } from "./deployments.ts";
import { readLedger } from "./ledger.ts";
import type { Ledger } from "./ledger.ts";
import { startNatsServer } from "./nats-server.ts";
import { runSonde, startSonde } from "./process.ts";
import type { SondeProcess } from "./process.ts";
import { migratedPostgres } from "./stores.ts";
import { startTarget } from "./target-server.ts";
import type { HttpTarget } from "./target-server.ts";

export interface ServiceOptions {
  /** Calls that are due every minute; default 60. */
  readonly deployments?: number;
  /** Default a database on the tests' server that has the schema and nothing else. */
  readonly databaseUrl?: string;
  /** URLs of its NATS servers, comma-separated. Default: its own server. */
  readonly natsUrl?: string;
  /** Settings of every process. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface TestService extends AsyncDisposable {
  readonly natsUrl: string;
  readonly target: HttpTarget;
  readonly store: Store;
  readonly schedules: readonly Schedule[];
  /** Starts a process with these roles. */
  start(roles: string, settings?: Readonly<Record<string, string>>): SondeProcess;
  ledger(): Promise<Ledger>;
  /** Retries `check` once a second, for up to two minutes. */
  eventually(check: (ledger: Ledger) => void | Promise<void>): Promise<void>;
  /** Resolves when a run due after `ms` is complete. */
  completes(ms?: number): Promise<void>;
  /**
   * Waits for the outcome of every run due by now, up to four minutes for a lost run, and stops all
   * processes. Expects one outcome for each due slot, and statistics that count each once: by the
   * tests' own sums, and by `sonde stats rebuild`.
   */
  expectLedgerHolds(): Promise<Ledger>;
}

const ANSWER_AFTER_MS = 300;
const LOST_WITHIN_MS = 240_000;
const WELL = { code: 0, signal: null };

export async function startService(options: ServiceOptions = {}): Promise<TestService> {
  await using stack = new AsyncDisposableStack();
  const target = stack.use(
    await startTarget((_, response) => {
      setTimeout(() => response.end("ok"), ANSWER_AFTER_MS);
    }),
  );
  const natsUrl = options.natsUrl ?? stack.use(await startNatsServer()).url;
  const url = options.databaseUrl ?? (await migratedPostgres());
  const store = stack.use(await openDisposable({ url }));
  const schedules = await deployMany(store, target.url, options.deployments ?? 60);
  const env = {
    SONDE_DATABASE_URL: url,
    SONDE_MASTER_KEY: "5a".repeat(32),
    SONDE_NATS_URL: natsUrl,
    SONDE_EGRESS_ALLOW: target.authority,
    ...options.settings,
  };
  const processes: SondeProcess[] = [];
  const running = stack.move();
  const ledger = () => readLedger(store, schedules);
  const eventually: TestService["eventually"] = (check) =>
    vi.waitFor(async () => check(await ledger()), { timeout: 120_000, interval: 1000 });
  return {
    natsUrl,
    target,
    store,
    schedules,
    ledger,
    start(roles, settings = {}) {
      const started = startSonde(["serve", "--roles", roles], { env: { ...env, ...settings } });
      processes.push(running.use(started));
      return started;
    },
    eventually,
    completes: (ms = 0) =>
      eventually(({ results }) => {
        const complete = results.filter(isComplete).map(dueOf);
        expect(Math.max(...complete), "a complete run due then").toBeGreaterThan(ms);
      }),
    async expectLedgerHolds() {
      await outcomesOf(store, schedules, systemClock.now(), LOST_WITHIN_MS);
      await Promise.all(processes.map((each) => each.stop()));
      for (const each of processes) expect(await each.exited, each.stderr()).toMatchObject(WELL);
      const held = await expectLedger(store, schedules);
      const rebuilt = await runSonde(["stats", "rebuild"], { env });
      expect(rebuilt).toMatchObject({ code: 0, stdout: "" });
      return held;
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

type Result = Ledger["results"][number];

export const isComplete = ({ meta }: Result): boolean => meta.result === "COMPLETE";

/** In milliseconds since the epoch. */
export const dueOf = ({ meta }: Result): number => Date.parse(meta.due_time);

/** Sums the metric's values in the process's /metrics. */
export async function metricOf(sonde: SondeProcess, name: string): Promise<number> {
  const response = await fetch(`${await sonde.ops()}/metrics`);
  const lines = (await response.text()).split("\n");
  const values = lines.filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
  return values.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

/** Returns the answer of the process's /readyz, and whether it was a success. */
export async function readinessOf(sonde: SondeProcess): Promise<{
  readonly ok: boolean;
  readonly body: { readonly degraded?: readonly { readonly reason: string }[] };
}> {
  const response = await fetch(`${await sonde.ops()}/readyz`);
  return { ok: response.ok, body: (await response.json()) as { degraded?: [] } };
}
