// The tests: which run without servers, which with, and in which order.
import { defineConfig } from "vitest/config";
import { BaseSequencer } from "vitest/node";
import type { TestSpecification } from "vitest/node";

// "embedded" needs no server: SQLite and the in-process bus. "servers" runs the contract suites
// again, on PostgreSQL and NATS (STORES and BUSES select the adapters), and starts servers and the
// program. In these two, files share processes, since loading the program for each would take as
// long as most tests. "pages" opens the pages in a browser, which needs both processors, and "speed"
// measures them afterwards, alone: `npm run test:pages`. "faults" holds the longest tests, most of
// them of faults, runs each benchmark once, and each diagnosis of the runbooks:
// `npm run test:faults`.
const shared = {
  setupFiles: ["test/support/no-leftovers.ts"],
  // Generous, for a busy machine; a passing test never waits this long.
  testTimeout: 120_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 25_000 } },
  // More workers than two processors serve: many files wait for servers and clocks.
  maxWorkers: 6,
};
const LONG = "test/**/*.long.test.ts";
const PAGES = "test/web/**/*.test.ts";
const SPEED = "test/web/speed.test.ts";
const SERVERS = [
  "test/flows/servers*.test.ts",
  "test/faults/**/*.test.ts",
  "test/main/**/*.test.ts",
  "test/deploy/**/*.test.ts",
  "test/docs/**/*.test.ts",
  "test/bench/smoke.long.test.ts",
];

// They wait for real minutes, start the program dozens of times, or open each page.
const LONGEST = [
  "test/web/pages.test.ts",
  "test/faults/rolling-upgrade.long.test.ts",
  "test/main/metrics.test.ts",
  "test/main/serve.test.ts",
  "test/main/alerts.test.ts",
  "test/main/command-line.test.ts",
  "test/main/master-key.test.ts",
  "test/flows/servers-real-time.test.ts",
];

// They mostly wait for clocks, the longest first: spread over their project, so that most workers
// use the processors at any time.
const WAITING = [
  "test/agent/hub-time.contract.test.ts",
  "test/flows/monitoring.contract.test.ts",
  "test/bus/bus.contract.test.ts",
  "test/agent/duty.contract.test.ts",
  "test/net/resolve-host.test.ts",
  "test/agent/reporting/report-publisher.test.ts",
];

/** Starts the longest files first, so that the short ones fill the gaps. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const inProjects = [...Map.groupBy(sorted, ({ project }) => project.name).values()];
    return first(
      LONGEST,
      inProjects.flatMap((group) => spread(WAITING, group)),
    );
  }
}

type Files = readonly TestSpecification[];

/** Returns the position of a file in `paths`; their number if it is not among them. */
function rankIn(paths: readonly string[], { moduleId }: TestSpecification): number {
  const at = paths.findIndex((path) => moduleId.endsWith(path));
  return at === -1 ? paths.length : at;
}

const first = (paths: readonly string[], files: Files): TestSpecification[] =>
  files.toSorted((a, b) => rankIn(paths, a) - rankIn(paths, b));

/** Puts those of `paths` at equal distances among the first fifth of the others. */
function spread(paths: readonly string[], files: Files): TestSpecification[] {
  const isSpread = (file: TestSpecification): boolean => rankIn(paths, file) < paths.length;
  const others = files.filter((file) => !isSpread(file));
  const spaced = first(paths, files.filter(isSpread));
  if (spaced.length === 0) return others;
  const distance = Math.ceil(others.length / (5 * spaced.length));
  for (const [n, file] of spaced.entries()) others.splice(n * (distance + 1), 0, file);
  return others;
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    tags: [{ name: "slow", description: "Takes seconds: of waiting, or of work." }],
    projects: [
      {
        test: {
          ...shared,
          name: "embedded",
          include: ["test/**/*.test.ts"],
          exclude: [...SERVERS, PAGES],
          isolate: false,
          env: { STORES: "sqlite", BUSES: "in-process,bridged" },
        },
      },
      {
        test: {
          ...shared,
          name: "servers",
          globalSetup: ["test/support/built-program.ts", "test/support/servers.ts"],
          include: [...SERVERS, "test/**/*.contract.test.ts"],
          exclude: [LONG],
          isolate: false,
          env: { STORES: "postgres", BUSES: "nats" },
        },
      },
      {
        test: {
          ...shared,
          name: "pages",
          globalSetup: ["test/support/built-program.ts"],
          include: [PAGES],
          exclude: [SPEED],
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...shared,
          name: "speed",
          globalSetup: ["test/support/built-program.ts"],
          include: [SPEED],
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          ...shared,
          name: "faults",
          globalSetup: ["test/support/built-program.ts", "test/support/servers.ts"],
          include: [LONG],
          testTimeout: 8 * 60_000,
          env: { STORES: "postgres", BUSES: "nats" },
        },
      },
    ],
  },
});
