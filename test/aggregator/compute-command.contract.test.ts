// `sonde insights compute`, while a service has the store open.
import { describe, expect, it } from "vitest";
import { runCommand } from "../../src/commands/command-line.ts";
import { makeFolder } from "../support/process.ts";
import { connect, settingsOf, storeKinds } from "../support/stores.ts";
import type { TestDatabase } from "../support/stores.ts";
import {
  DAY,
  every,
  HOUR,
  insertCall,
  MONDAY,
  record,
  reportsOf,
  startInsights,
} from "./computing.ts";

interface Change {
  readonly id: string;
  readonly score_before: number | null;
  readonly score_after: number | null;
}

/** Runs the command in this process; returns what it prints. */
async function compute(database: TestDatabase, ...args: readonly string[]): Promise<Change[]> {
  using folder = makeFolder();
  const environment = settingsOf(database, folder.dataDir);
  let printed = "";
  await runCommand(["insights", "compute", ...args], environment, (text) => (printed += text));
  return printed
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Change);
}

describe.each(storeKinds)("sonde insights compute on %s", (kind) => {
  it("computes the periods that overlap the range, and prints what changed", async () => {
    await using insights = await startInsights(kind, MONDAY + 40 * DAY);
    const { store, database } = insights;
    await insertCall(store, "other");
    await record(store, [
      ...every(MONDAY + DAY, 30, HOUR),
      ...every(MONDAY + 8 * DAY, 30, HOUR, { call: "other" }),
    ]);
    const june = ["--from", "2026-06-03", "--to", "2026-06-04"];
    const [month, week] = ["call__2026-06-01__2026-07-01", "call__2026-06-01__2026-06-08"];
    const added = { score_before: null, score_after: 999 };
    const all = await compute(database, ...june);
    expect(all).toHaveLength(3);
    expect(new Set(all)).toEqual(
      new Set([
        { id: week, ...added },
        { id: month, ...added },
        { id: "other__2026-06-01__2026-07-01", ...added },
      ]),
    );
    expect(await compute(database, ...june)).toEqual([]);

    await using raw = connect(database).kysely;
    await raw.updateTable("insights").set({ score: 5 }).execute();
    const repaired = { score_before: 5, score_after: 999 };
    expect(await compute(database, ...june, "--call", "call")).toEqual([
      { id: week, ...repaired },
      { id: month, ...repaired },
    ]);
    const scores = async (id: string) => (await reportsOf(store, MONDAY, id)).map((r) => r.score);
    expect([await scores("call"), await scores("other")]).toEqual([[999, 999], [5]]);
    // The other call also ran in a week outside the range; the service must still compute that one.
    const left = await store.insights.listStale(MONDAY + 40 * DAY, undefined, 10);
    expect(left.map(({ call_id, start }) => [call_id, start])).toEqual([
      ["other", MONDAY + 7 * DAY],
    ]);
  });

  it("says how many reports could not be computed", async () => {
    await using insights = await startInsights(kind, MONDAY + 40 * DAY);
    const { store, database } = insights;
    await record(store, every(MONDAY + DAY, 30, HOUR)); // in June, not in its last week
    await using raw = connect(database).kysely;
    await raw.updateTable("documents").set({ document: "{" }).where("id", "=", "call").execute();
    await expect(compute(database, "--from", "2026-06-24", "--to", "2026-06-25")).rejects.toThrow(
      /^1 report could not be computed; the service will retry$/,
    );
  });

  it.each([
    [
      ["--to", "2026-06-01"],
      "insights compute needs --from <time>: a time such as 2026-10-01, in or before the first period; see `sonde insights compute --help`",
    ],
    [
      ["--from", "June", "--to", "2026-06-01"],
      "--from: 'June' is not an ISO 8601 date or date-time",
    ],
    [
      ["--from", "2026-06-01", "--to", "2026-06-01"],
      "--to: '2026-06-01' is not after --from '2026-06-01'",
    ],
    [["--from", "2026-06-01", "--to", "2026-06-02", "--call", "nope"], "call 'nope' not found"],
    [
      ["--from", "9999-06-01", "--to", "9999-06-02"],
      /^no week or month between 9999-06-01T00:00:00Z and 9999-06-02T00:00:00Z closed before .*Z: a report is computed ten minutes after its period$/,
    ],
  ])("rejects %j with one line", async (args, message) => {
    await using insights = await startInsights(kind, MONDAY);
    await expect(compute(insights.database, ...args)).rejects.toThrow(
      expect.objectContaining({
        message: typeof message === "string" ? message : expect.stringMatching(message),
      }),
    );
  });
});
