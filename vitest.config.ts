import { defineConfig } from "vitest/config";

// "embedded" needs no server: SQLite and the in-process bus. "servers" starts NATS, PostgreSQL and child processes.
// A contract suite runs in both: STORES and BUSES choose the adapters.
const shared = {
  setupFiles: ["test/support/no-leftovers.ts"],
  testTimeout: 20_000,
  hookTimeout: 60_000,
};
const serverOnly = [
  "test/flows/servers*.test.ts",
  "test/faults/**/*.test.ts",
  "test/main/**/*.test.ts",
];

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...shared,
          name: "embedded",
          include: ["test/**/*.test.ts"],
          exclude: serverOnly,
          env: { STORES: "sqlite", BUSES: "in-process" },
        },
      },
      {
        test: {
          ...shared,
          name: "servers",
          globalSetup: ["test/support/servers.ts"],
          include: ["test/**/*.contract.test.ts", ...serverOnly],
          env: { STORES: "postgres", BUSES: "nats" },
        },
      },
    ],
  },
});
