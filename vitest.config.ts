import { defineConfig } from "vitest/config";
import { BaseSequencer } from "vitest/node";
import type { TestSpecification } from "vitest/node";

// "embedded" needs no server: SQLite and the in-process bus. "servers" starts NATS, PostgreSQL and
// child processes, and gives each file a process of its own. A contract suite runs in both: STORES
// and BUSES choose the adapters.
const shared = {
  setupFiles: ["test/support/no-leftovers.ts"],
  // As long as a busy machine may take; what comes sooner ends a wait.
  testTimeout: 60_000,
  hookTimeout: 60_000,
  expect: { poll: { timeout: 10_000 } },
  // More than two processors can serve: many files wait for servers and clocks.
  maxWorkers: 3,
};
const apart = [
  "test/flows/servers*.test.ts",
  "test/faults/**/*.test.ts",
  "test/main/**/*.test.ts",
  "test/web/**/*.test.ts",
  // Replaces a module of Node's.
  "test/agent/http/self-connection.test.ts",
];

// These wait for real minutes to pass.
const slow = ["test/faults/kill.test.ts", "test/flows/servers-real-time.test.ts"];

/** What waits longest starts first, and leaves the processors to the rest. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const waits = ({ moduleId }: TestSpecification): number =>
      Number(slow.some((path) => moduleId.endsWith(path)));
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => waits(b) - waits(a));
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          ...shared,
          name: "embedded",
          include: ["test/**/*.test.ts"],
          exclude: apart,
          // A process for many files: to load the program for each would take as long as all of the
          // tests.
          isolate: false,
          env: { STORES: "sqlite", BUSES: "in-process" },
        },
      },
      {
        test: {
          ...shared,
          name: "servers",
          globalSetup: ["test/support/servers.ts"],
          include: ["test/**/*.contract.test.ts", ...apart],
          env: { STORES: "postgres", BUSES: "nats" },
        },
      },
    ],
  },
});
