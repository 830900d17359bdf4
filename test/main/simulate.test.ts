// `sonde simulate` as its user sees it.
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, vi } from "vitest";
import { runCommand } from "../../src/commands/command-line.ts";
import { httpClient } from "../support/client.ts";
import { makeFolder, runSonde, startSonde } from "../support/process.ts";
import type { SondeProcess } from "../support/process.ts";
import { until } from "../support/until.ts";

const SIZE = ["--calls", "4", "--locations", "2", "--weeks", "1", "--frequency", "15"];
const WEEKLY_RUNS = 4 * 2 * 7 * 96;
const KEY = "0123456789abcdefghijABCDEFGHIJ01";

interface Counts {
  readonly results: number;
  readonly counted: number;
  readonly pending: number;
}

const countsIn = (dataDir: string): Counts => {
  using database = new DatabaseSync(join(dataDir, "sonde.db"));
  return database
    .prepare(
      `select (select count(*) from results) as results,
        (select count(*) from pending_runs) as pending,
        (select sum(count) from stats join names on names.id = kind where name = 'DAY') as counted`,
    )
    .get() as unknown as Counts;
};

function locationsIn(dataDir: string): unknown[] {
  using database = new DatabaseSync(join(dataDir, "sonde.db"));
  const rows = database.prepare("select id from locations order by created").all();
  return rows.map(({ id }) => id);
}

describe("sonde simulate", () => {
  it("prints its results to stdout, and its progress to stderr", async () => {
    using folder = makeFolder();
    const { code, stdout, stderr } = await runSonde(
      ["simulate", "--calls", "2", "--locations", "1", "--weeks", "1", "--frequency", "120"],
      { folder: folder.path },
    );
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      {
        calls: 2,
        locations: 1,
        seed: 1,
        results: 168,
        from: expect.stringMatching(/:00Z$/),
        to: expect.stringMatching(/:00Z$/),
        seconds: expect.any(Number),
        rows_per_second: expect.any(Number),
      },
    ]);
    const [created, ...progress] = stderr.split("\n");
    const file = join(folder.dataDir, "sonde.db");
    expect(created).toBe(
      `created the database ${file}: if the service is already running, set SONDE_DATA_DIR to its folder`,
    );
    expect(progress.join("\n")).toMatch(
      /^(?:.+ left\n)*simulating 100 %, 168 of 168 results, \d+ results\/s\n$/,
    );
    expect(countsIn(folder.dataDir)).toEqual({ results: 168, counted: 168, pending: 0 });
    expect(locationsIn(folder.dataDir)).toEqual(["local", "sim-frankfurt"]);
  });

  it("completes a killed one, while the service uses the same file", async () => {
    using folder = makeFolder();
    const options = { folder: folder.path, env: { SONDE_BOOTSTRAP_KEY: KEY } };
    await using sonde = startSonde(["serve"], options);
    await sonde.ready();
    let weeks = 1;
    const command = () => ["simulate", ...SIZE, "--weeks", String(weeks)];
    /** Adds another week if the command ends sooner than this process notices. */
    const endMidway = async (signal: NodeJS.Signals): Promise<SondeProcess> => {
      for (; ; weeks += 1) {
        const before = countsIn(folder.dataDir).results;
        await using running = startSonde(command(), options);
        let hasEnded = false;
        void running.exited.then(() => (hasEnded = true));
        await until(() => expect(hasEnded || countsIn(folder.dataDir).results > before).toBe(true));
        running.signal(signal);
        await running.exited;
        const { results } = countsIn(folder.dataDir);
        if (results > before && results < weeks * WEEKLY_RUNS) return running;
      }
    };
    const killed = await endMidway("SIGKILL");
    expect(await killed.exited).toEqual({ code: null, signal: "SIGKILL" });
    const { results, counted, pending } = countsIn(folder.dataDir);
    expect([counted, pending]).toEqual([results, 0]);

    const stopped = await endMidway("SIGINT");
    expect(await stopped.exited).toEqual({ code: 1, signal: null });
    expect(stopped.stderr()).toMatch(
      /\nsonde: ended by SIGINT before it was complete: run the same command to complete it\n$/,
    );

    const { code } = await runSonde(command(), options);
    expect(code).toBe(0);
    const whole = countsIn(folder.dataDir);
    // Minutes may have passed since the first count.
    expect(whole.results).toBeGreaterThanOrEqual(weeks * WEEKLY_RUNS);
    expect(whole.results).toBeLessThanOrEqual(weeks * WEEKLY_RUNS + 8);
    expect([whole.counted, whole.pending]).toEqual([whole.results, 0]);
    const client = httpClient(await sonde.api(), KEY);
    const { results: calls } = await client.send<{ results: unknown[] }>("GET", "/calls/");
    expect(calls).toHaveLength(4);
    expect(sonde.log().filter(({ level }) => level !== "info")).toEqual([]);
  });

  it.each([
    [[], "simulate needs --calls <number>: 1 to 10000; see `sonde simulate --help`"],
    [["--calls", "0"], "--calls: '0' is not a whole number from 1 to 10000"],
    [["--calls", "10001"], "--calls: '10001' is not a whole number from 1 to 10000"],
    [
      ["--calls", "1"],
      "simulate needs --locations <number>: 1 to 100; see `sonde simulate --help`",
    ],
    [
      ["--calls", "1", "--locations", "1e1"],
      "--locations: '1e1' is not a whole number from 1 to 100",
    ],
    [
      ["--calls", "1", "--locations", "1", "--weeks", "521"],
      "--weeks: '521' is not a whole number from 1 to 520",
    ],
    [["--seed=-1"], "--seed: '-1' is not a whole number from 0 to 4294967295"],
    [
      [...SIZE, "--frequency", "7"],
      "--frequency: '7' is not one of 1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60, 120, 180, 240, 360, 480, 720, 1440 minutes",
    ],
    [
      [...SIZE, "--org", "acme"],
      "--org 'acme' needs --owner: each owner is in one organization, or in none",
    ],
  ])("rejects %j with one line, and creates nothing", async (args, message) => {
    using folder = makeFolder();
    const print = vi.fn<(text: string) => void>();
    const environment = { SONDE_DATA_DIR: folder.dataDir };
    await expect(runCommand(["simulate", ...args], environment, print)).rejects.toThrow(
      expect.objectContaining({ message }),
    );
    expect(print).not.toHaveBeenCalled();
  });
});
