import * as hdr from "hdr-histogram-js";
import type { Kysely } from "kysely";
import { Migrator } from "kysely/migration";
import { describe, expect, it } from "vitest";
import { MIGRATIONS } from "../../src/store/migrate.ts";
import { identityOf } from "../../src/model/access.ts";
import type { Ownership } from "../../src/model/access.ts";
import { PERIOD_KINDS, periodStart } from "../../src/model/periods.ts";
import { percentiles } from "../../src/model/summary.ts";
import { newId, scheduledRunId } from "../../src/runtime/ids.ts";
import { pack } from "../../src/store/details.ts";
import type { PendingRun } from "../../src/store/records.ts";
import { aCall, aReport, aRun, insertKey, T0 } from "../support/runs.ts";
import { connect, createTestDatabase, storeKinds } from "../support/stores.ts";
import type { TestDatabase } from "../support/stores.ts";

type AnyTables = Record<string, Record<string, unknown>>;

/** Creates the schema as it was before the migration, filled by `fill`. */
async function fillBefore(
  database: TestDatabase,
  migration: string,
  fill: (kysely: Kysely<AnyTables>) => Promise<void>,
): Promise<void> {
  const { kysely } = connect(database);
  const earlier = Object.fromEntries(
    Object.entries(MIGRATIONS).filter(([name]) => name < migration),
  );
  const { error } = await new Migrator({
    db: kysely,
    provider: { getMigrations: async () => earlier },
  }).migrateToLatest();
  if (error) throw error;
  await fill(kysely.withTables<AnyTables>());
  await kysely.destroy();
}

/** Builds a result as 0001 to 0006 stored it: its document, and columns copied from it. */
function oldResult(id: string, call_id: string, change: { readonly missed?: boolean } = {}) {
  const { missed = false } = change;
  const timing = {
    dns: null,
    tcp: missed ? null : 0.125,
    handshake: missed ? null : 24.001,
    upload: null,
    processing: missed ? null : 48.9,
    download: missed ? null : 0,
    total: missed ? null : 3_600_087.6,
  };
  const hop = { url: "https://a.test/old", http_code: 302, dest_ip: "203.0.113.7", timing };
  return {
    id,
    meta: {
      call_id,
      workflow_id: null,
      workflow_result_id: null,
      deployment_id: missed ? null : "deployment",
      location_id: "paris",
      agent_id: missed ? null : "probe-1",
      trigger: "SCHEDULE",
      trigger_time: "2026-10-01T12:00:00.000000Z",
      due_time: "2026-10-01T12:00:30.000000Z",
      start_time: missed ? null : "2026-10-01T12:00:30.250000Z",
      end_time: missed ? null : "2026-10-01T12:00:30.337000Z",
      result: missed ? "MISSED" : "COMPLETE",
      result_category: missed ? null : "PASS",
      message: missed ? "agent_lost: \0 gone" : null,
      domain: missed ? "" : "a.test",
      url: missed ? "" : "https://a.test/old",
      http_code: missed ? null : 200,
      source_ip: missed ? null : "198.51.100.2",
      dest_ip: missed ? null : "203.0.113.7",
      request_size: missed ? null : 100,
      response_size: missed ? null : 5_000_000_000,
      redirects: missed ? 0 : 1,
      is_late: !missed,
    },
    timing,
    request: missed
      ? null
      : {
          url: "https://a.test/new",
          method: "GET",
          headers: Array.from({ length: 20 }, (_, n) => ({ key: `X-${n}`, value: "grüße" })),
          body: null,
        },
    response: missed
      ? null
      : {
          status_code: 200,
          status_string: "OK",
          headers: [{ key: "Content-Type", value: "text/plain" }],
        },
    hops: missed ? [] : [hop],
  };
}

function oldResultRow(document: ReturnType<typeof oldResult>) {
  const { id, meta, timing } = document;
  const { total, ...phases } = timing;
  return {
    id,
    owner: "ann",
    call_id: meta.call_id,
    deployment_id: meta.deployment_id,
    location_id: meta.location_id,
    time: Date.parse(meta.start_time ?? meta.due_time),
    result: meta.result,
    latency: total === null ? null : Math.round(total),
    http_code: meta.http_code,
    content_length: meta.response_size,
    ...phases,
    document: JSON.stringify(document),
  };
}

/** Builds the statistics of `latencies` in one period, as 0001 to 0006 stored them. */
function oldStatRow(kind: string, period: number, call_id: string, latencies: readonly number[]) {
  const histogram = hdr.build({
    highestTrackableValue: 3_600_000,
    numberOfSignificantValueDigits: 2,
    bitBucketSize: 64,
  });
  for (const latency of latencies) histogram.recordValue(latency);
  const mean = latencies.reduce((sum, each) => sum + each, 0) / latencies.length;
  const power = (n: number): number => latencies.reduce((sum, each) => sum + (each - mean) ** n, 0);
  const none = { count: 0, sum: 0 };
  const tcp = { count: latencies.length, sum: 0.1 + 0.2 };
  const phases = {
    dns: none,
    tcp,
    handshake: none,
    upload: none,
    processing: none,
    download: none,
  };
  return {
    call_id,
    kind,
    period,
    location_id: "paris",
    result: "COMPLETE",
    count: latencies.length,
    min: Math.min(...latencies),
    max: Math.max(...latencies),
    mean,
    m2: power(2),
    m3: power(3),
    histogram: hdr.encodeIntoCompressedBase64(histogram),
    phases: JSON.stringify(phases),
  };
}

describe.each(storeKinds)("migrating an earlier schema on %s", (kind) => {
  it("makes each of its tokens that a call uses due for renewal", async () => {
    await using database = await createTestDatabase(kind, { empty: true });
    const [used, alsoUsed, unused] = [aCall().id, aCall().id, aCall().id];
    const call = (token_id: string | null) => ({
      id: aCall().id,
      kind: "call",
      token_id,
    });
    const documents = [
      ...[used, alsoUsed, unused].map((id) => ({
        id,
        kind: "token",
        token_id: null,
      })),
      call(used),
      call(alsoUsed),
      call(null),
    ];
    const rest = { owner: "ann", shared_org: 0, shared_community: 0, document: "{}" };
    await fillBefore(database, "0006-token-renewals", async (kysely) => {
      const rows = documents.map((row) => ({ ...rest, ...row }));
      await kysely.insertInto("documents").values(rows).execute();
    });

    const store = await database.open();
    await insertKey(store, T0);
    const { renewals } = store;

    const due = await renewals.listDue(T0);
    expect(due.map(({ id }) => id)).toEqual([used, alsoUsed].toSorted());
    for (const { id } of due) {
      expect(await renewals.claim(id, T0, T0 + 1)).toBe(true);
      expect(await renewals.release(id, T0 + 1, null)).toBe(true);
    }
    expect(await renewals.listDue(T0 + 1)).toEqual([]);
  });

  it("keeps its results, with the bodies of responses", async () => {
    await using database = await createTestDatabase(kind, { empty: true });
    const [call, other] = [newId(T0), newId(T0)];
    const ids = Array.from({ length: 1001 }, () => newId(T0));
    const results = ids.map((id, n) =>
      oldResult(id, n === 0 ? other : call, { missed: n % 2 > 0 }),
    );
    const [first] = ids as [string];
    const body = {
      content_type: "text/plain",
      encoding: "utf-8",
      size: 7,
      content: "grüße",
      reason: null,
    };
    await fillBefore(database, "0007-results-in-columns", async (kysely) => {
      for (let at = 0; at < results.length; at += 100) {
        const rows = results.slice(at, at + 100).map(oldResultRow);
        await kysely.insertInto("results").values(rows).execute();
      }
      await kysely
        .insertInto("result_contents")
        .values({ result_id: first, ...body })
        .execute();
    });

    const store = await database.open();

    const shown = (result: ReturnType<typeof oldResult>) => ({
      ...result,
      meta: { ...result.meta, message: result.meta.message?.replace("\0", "\ufffd") ?? null },
      timing: { ...result.timing, uncertainty: null },
      hops: result.hops.map((hop) => ({ ...hop, timing: { ...hop.timing, uncertainty: null } })),
    });
    expect(await store.results.getMany(ids)).toEqual(results.map(shown));
    expect(JSON.stringify(await store.results.get(first))).toBe(JSON.stringify(shown(results[0]!)));
    expect(await store.results.content(first)).toEqual(body);
    expect(await store.results.content(ids[1]!)).toBeUndefined();
    // A late result still replaces its MISSED result.
    const due_time = Date.parse("2026-10-01T12:00:30Z");
    const run = aRun({ result_id: ids[1]!, target_id: call, location_id: "paris", due_time });
    expect(await store.results.record([aReport(run)])).toMatchObject({ recorded: 1, late: 1 });
  });

  it("keeps its results where they are, next to those of the coming days", async () => {
    await using database = await createTestDatabase(kind, { empty: true });
    const [call, DAY] = [newId(T0), 86_400_000];
    const runOf = (due_time: number) =>
      aRun({ result_id: scheduledRunId(due_time, newId(T0)), target_id: call, due_time });
    const now = Math.floor(Date.now() / DAY) * DAY;
    // The newest comes from a clock that was ahead; the oldest started nine days after its trigger.
    const runs = [now - 40 * DAY, now - 39 * DAY, now + 5 * DAY].map(runOf);
    const [long] = runs as [PendingRun];
    const start = long.due_time + 9 * DAY;
    await fillBefore(database, "0016-results-by-day", async (kysely) => {
      const names = ["ann", call, "local", "SCHEDULE", "COMPLETE", "HOUR", "DAY", "MONTH"];
      for (const name of names) await kysely.insertInto("names").values({ name }).execute();
      const numbers = { owner: 1, call: 2, location: 3, trigger: 4, result: 5, domain: 3 };
      const rows = runs.map(({ result_id: id, due_time }, n) => ({
        ...numbers,
        id,
        trigger_time: due_time,
        due_time,
        time: n === 0 ? start : due_time,
        started: 1,
        redirects: 0,
        is_late: 0,
      }));
      await kysely.insertInto("results").values(rows).execute();
      const shown = { url: "", request: null, response: null, hops: [], certificate: null };
      const details = runs.map((run) => ({ result_id: run.result_id, details: pack(shown) }));
      await kysely.insertInto("result_details").values(details).execute();
    });

    const { results, pendingRuns, stats, retention } = await database.open();

    await retention.makeAhead(now + 6 * DAY);
    const added = [runOf(now + 4 * DAY), runOf(now + 6 * DAY)];
    await pendingRuns.insert(added);
    await results.record(added.map((run) => aReport(run)));
    const ids = [...runs, ...added].map(({ result_id }) => result_id);
    expect((await results.getMany(ids)).map(({ id }) => id)).toEqual(ids);
    const { duplicate } = await results.record(runs.map((run) => aReport(run)));
    expect(duplicate).toBe(3);
    // It is found by its time, far from the time in its id.
    const page = { after: "", limit: 9, from: start, to: start + 1 };
    expect((await results.listOfCall(call, page)).map(({ id }) => id)).toEqual([long.result_id]);
    const query = { call_id: call, kind: "HOUR", location_id: null } as const;
    expect(await stats.rawOfPeriod(query, periodStart("HOUR", start))).toHaveLength(1);
  });

  it("assigns each schedule, run and audit entry to its owner", async () => {
    await using database = await createTestDatabase(kind, { empty: true });
    const shared = { shared_org: 1, shared_community: 0, document: "{}" };
    const documents = [
      { ...shared, id: "call", kind: "call", owner: "ann", owner_org: "acme" },
      { ...shared, id: "bobs", kind: "deployment", owner: "bob", owner_org: "acme" },
      { ...shared, id: "moved", kind: "deployment", owner: "ann", owner_org: null },
    ];
    const { owner_org: _, ...run } = aRun({ target_id: "call" });
    const runs = ["bobs", "moved", "deleted", null].map((deployment_id) => ({
      ...run,
      result_id: newId(T0),
      deployment_id,
      owner: deployment_id === "bobs" ? "bob" : "ann",
      context: "{}",
      published: 0,
    }));
    const key = { hash: "", access_level: "OWNER", created: T0, last_update: T0, revoked: 1 };
    const entry = {
      address: null,
      action: "update",
      kind: "call",
      object_id: "call",
      fields: "[]",
    };
    const issued = { action: "issue", kind: "api_key", object_id: "key" };
    await fillBefore(database, "0009-identity", async (kysely) => {
      const add = (table: string, rows: Record<string, unknown>[]) =>
        kysely.insertInto(table).values(rows).execute();
      await add("documents", documents);
      for (const { deployment_id, owner, location_id, target_id } of runs.slice(0, 2)) {
        const times = { frequency: 1, run_delay: 0, slot_key: 1, active_until: T0 + 1 };
        const key = { deployment_id, active_from: T0 };
        await add("schedules", [{ ...key, ...times, owner, location_id, target_id }]);
        await add("new_schedules", [key]);
      }
      await add("pending_runs", runs);
      await add("api_keys", [
        { ...key, id: "key", owner: "ann", org: "acme" },
        { ...key, id: "free", hash: "2", owner: "ann", org: null },
      ]);
      await add("audit", [
        { ...entry, id: "1", time: T0, actor: "key", owner: "ann" },
        { ...entry, id: "2", time: T0, actor: "free", owner: "ann" },
        { ...entry, id: "3", time: T0, actor: "command line", owner: null },
        { ...entry, ...issued, id: "4", time: T0, actor: "command line", owner: "ann" },
      ]);
    });

    const { schedules, pendingRuns, audit } = await database.open();

    const whose = (rows: readonly (Ownership & { readonly deployment_id: string | null })[]) =>
      Object.fromEntries(rows.map((row) => [row.deployment_id, identityOf(row)]));
    const [bob, ann] = [
      identityOf({ owner: "bob", owner_org: "acme" }),
      identityOf({ owner: "ann", owner_org: "acme" }),
    ];
    const moved = identityOf({ owner: "ann", owner_org: null });
    expect(whose(await schedules.listNew())).toEqual({ bobs: bob, moved });
    expect(whose(await pendingRuns.listOfTarget("call", { after: "", limit: 10 }))).toEqual({
      bobs: bob,
      moved,
      deleted: ann,
      null: ann,
    });
    expect((await audit.list({ limit: 10 })).map(({ org }) => org)).toEqual([
      "acme",
      null,
      null,
      "acme",
    ]);
  });

  it("binds each token to the token endpoint of its setting", async () => {
    await using database = await createTestDatabase(kind, { empty: true });
    const url = "https://a.test/token";
    const row = (
      of: "auth_setting" | "token",
      document: object,
      auth_id: string | null = null,
    ) => ({
      id: newId(T0),
      kind: of,
      owner: "ann",
      shared_org: 0,
      shared_community: 0,
      auth_id,
      document: JSON.stringify(document),
    });
    const setting = row("auth_setting", { settings: { access_token_url: url } });
    const other = row("auth_setting", { settings: {} });
    const tokens = [
      ...Array.from({ length: 501 }, () => row("token", { meta: { name: "t" } }, setting.id)),
      row("token", {}, other.id),
      row("token", {}, "deleted"),
    ];
    await fillBefore(database, "0010-token-endpoints", async (kysely) => {
      for (const each of [setting, other, ...tokens])
        await kysely.insertInto("documents").values(each).execute();
    });

    const { documents } = await database.open();

    const found = await documents.getMany(
      "token",
      tokens.map(({ id }) => id),
    );
    expect([...found.values()].map(({ document }) => document)).toEqual([
      ...Array.from({ length: 501 }, () => ({ meta: { name: "t" }, endpoint: url })),
      { endpoint: null },
      { endpoint: null },
    ]);
  });

  it("takes an agent's last heartbeat as its creation", async () => {
    await using database = await createTestDatabase(kind, { empty: true });
    const agent = {
      agent_id: "probe-1",
      location_id: "paris",
      version: "0.1.0",
      in_flight: 2,
      sent: T0 - 1,
      last_seen: T0,
    };
    await fillBefore(database, "0013-agent-addresses", async (kysely) => {
      await kysely.insertInto("agents").values(agent).execute();
    });
    const { agents } = await database.open();
    expect(await agents.list()).toMatchObject([
      { ...agent, created: T0, remote_addr: "", protocol: 1, condition: "online" },
    ]);
    const later = { ...agent, sent: T0 + 1, remote_addr: "198.51.100.7" };
    await agents.record(later, { now: T0 + 2 });
    expect(await agents.list()).toMatchObject([{ ...later, last_seen: T0 + 2, created: T0 }]);
  });

  it("counts what each owner has", async () => {
    await using database = await createTestDatabase(kind, { empty: true });
    const call = { kind: "call", shared_org: 0, shared_community: 0, document: '"é"' };
    await fillBefore(database, "0011-budgets", async (kysely) => {
      const rows = [
        { ...call, id: "1", owner: "ann", owner_org: null },
        { ...call, id: "2", owner: "ann", owner_org: null },
        { ...call, id: "3", owner: "ann", owner_org: "shop" },
        { ...call, id: "4", owner: "ann", owner_org: null, kind: "report" },
      ];
      await kysely.insertInto("documents").values(rows).execute();
    });
    const { usage } = await database.open();
    const ann = { owner: "ann", org: null };
    expect(await usage.of(ann, "call")).toEqual({ objects: 2, bytes: 12 });
    expect(await usage.of({ ...ann, org: "shop" }, "call")).toEqual({ objects: 1, bytes: 4 });
  });

  it("removes schedules whose deployment is gone", async () => {
    await using database = await createTestDatabase(kind, { empty: true });
    const FOR_EVER = Number.MAX_SAFE_INTEGER;
    const schedule = { owner: "ann", owner_org: null, target_id: "call", target_kind: "call" };
    const times = { frequency: 1, run_delay: 0, between_calls_delay: 0, slot_key: 1 };
    const schedules = [
      { deployment_id: "stored", active_until: FOR_EVER },
      { deployment_id: "deleted", active_until: T0 + 1 },
      { deployment_id: "lost", active_until: FOR_EVER },
    ].map((each) => ({ ...each, ...schedule, ...times, location_id: "paris", active_from: T0 }));
    await fillBefore(database, "0023-lost-deployments", async (kysely) => {
      const owned = { owner: "ann", owner_org: null, shared_org: 0, shared_community: 0 };
      const stored = { id: "stored", kind: "deployment", ...owned, document: "{}" };
      await kysely.insertInto("documents").values(stored).execute();
      await kysely.insertInto("schedules").values(schedules).execute();
      const keys = schedules.map(({ deployment_id, active_from }) => ({
        deployment_id,
        active_from,
      }));
      await kysely.insertInto("new_schedules").values(keys).execute();
    });
    const { locations, schedules: kept } = await database.open();
    expect(await locations.deploymentsAt("paris")).toBe(1);
    const ids = (await kept.listNew()).map(({ deployment_id }) => deployment_id);
    expect(ids.toSorted()).toEqual(["deleted", "stored"]);
    expect(await kept.targetsOf("lost")).toEqual([]);
  });

  it("keeps its statistics, to which new results are added", async () => {
    await using database = await createTestDatabase(kind, { empty: true });
    const call = newId(T0);
    const latencies = [12, 12, 300, 301, 40_000];
    const HOUR = 3_600_000;
    const year = Array.from({ length: 600 }, (_, n) => periodStart("YEAR", T0) + n * HOUR);
    await fillBefore(database, "0007-results-in-columns", async (kysely) => {
      const current = PERIOD_KINDS.map((each) =>
        oldStatRow(each, periodStart(each, T0), call, latencies),
      );
      const earlier = year.map((time) => oldStatRow("HOUR", time, call, [1]));
      for (const rows of [current, earlier])
        await kysely.insertInto("stats").values(rows).execute();
    });

    const { pendingRuns, results, stats } = await database.open();

    const read = async (each: (typeof PERIOD_KINDS)[number], time = T0) => {
      const query = { call_id: call, kind: each, location_id: "paris" };
      return (await stats.period(query, periodStart(each, time))).get("COMPLETE")!;
    };
    for (const each of PERIOD_KINDS) {
      const summary = await read(each);
      const { count, min, max, mean, m2, m3 } = oldStatRow(each, 0, call, latencies);
      expect(summary).toMatchObject({ count, min, max, mean, m2, m3 });
      expect([...summary.buckets]).toEqual([
        [12, 2],
        [300, 2],
        [39_936, 1],
      ]);
      expect(summary.phases.tcp).toEqual({ count: 5, sum: 300 });
    }
    expect((await read("HOUR", year.at(-1))).count).toBe(1);
    const run = aRun({ target_id: call, location_id: "paris" });
    await pendingRuns.insert([run]);
    await results.record([aReport(run, { total: 8 })]);
    for (const each of PERIOD_KINDS) {
      const summary = await read(each);
      expect(summary).toMatchObject({ count: 6, min: 8, max: 40_000 });
      expect(percentiles(summary, [0, 50])).toEqual([8, 12]);
    }
  });
});
