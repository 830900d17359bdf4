// The spool on real files.
import { execFileSync } from "node:child_process";
import {
  closeSync,
  copyFileSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { describe, expect, it } from "vitest";
import { createAgentMetrics } from "../../../src/agent/metrics.ts";
import { createSpool, takeOver } from "../../../src/agent/reporting/spool.ts";
import type { Spool, SpoolSettings } from "../../../src/agent/reporting/spool.ts";
import type { RunReport } from "../../../src/model/result.ts";
import { createLogger } from "../../../src/runtime/logger.ts";
import { createRegistry } from "../../../src/runtime/metrics.ts";
import { limitFiles } from "../../support/process.ts";
import { T0, aReport, aRun } from "../../support/runs.ts";

interface Fixture extends Disposable {
  readonly folder: string;
  readonly path: string;
  readonly lines: () => { readonly level: string; readonly msg: string }[];
  open(settings?: Partial<SpoolSettings>): Spool & Disposable;
  takeOver(spool: Spool, left: string): void;
  files(): string[];
  /** Returns the samples of a counter that are not 0. */
  metric(name: string): Promise<string[]>;
}

function newFolder(): Fixture {
  const folder = mkdtempSync(join(tmpdir(), "sonde-spool-"));
  const path = join(folder, "spool.db");
  const lines: string[] = [];
  const registry = createRegistry({ version: "test" });
  const settings = {
    path,
    locationId: "local",
    log: createLogger("info", { write: (line) => void lines.push(line) }),
    metrics: createAgentMetrics(registry),
  };
  return {
    folder,
    path,
    lines: () => lines.map((line) => JSON.parse(line) as { level: string; msg: string }),
    open(change = {}) {
      const spool = createSpool({ ...settings, ...change });
      spool.open();
      return { ...spool, [Symbol.dispose]: () => spool.close() };
    },
    takeOver: (spool, left) => takeOver(spool, { ...settings, path: left }),
    files: () => readdirSync(folder).toSorted(),
    async metric(name) {
      const text = await registry.metrics();
      return text.split("\n").filter((line) => line.startsWith(name) && !line.endsWith(" 0"));
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  };
}

/** Returns a report due this many seconds after `T0`. */
const dueAt = (seconds: number): RunReport => aReport(aRun({ due_time: T0 + seconds * 1000 }));

/** Returns a report whose message has this many characters. */
function largeAt(seconds: number, characters: number): RunReport {
  const report = dueAt(seconds);
  const [result] = report.results;
  if (!result) throw new Error("a report without a result");
  const meta = { ...result.meta, message: "x".repeat(characters) };
  return { ...report, results: [{ ...result, meta }] };
}

const idsOf = (reports: readonly RunReport[]): string[] => reports.map(({ run_id }) => run_id);

const LEFT = "spool holds reports of other locations; leaving them there";
const UNUSABLE = "spool unusable: set aside, starting empty";
const CUT = "update reports set report = substr(report, 10)";

/** Empties the spool as a delivery does. */
function takeAll(spool: Spool): RunReport[] {
  const taken: RunReport[] = [];
  for (let batch = spool.oldest(); batch.length > 0; batch = spool.oldest()) {
    taken.push(...batch);
    spool.remove(idsOf(batch));
  }
  return taken;
}

describe("the spool", () => {
  it("returns reports unchanged, earliest due first", () => {
    using folder = newFolder();
    using spool = folder.open();
    const reports = Array.from({ length: 250 }, (_, n) => dueAt((n * 7) % 250));
    for (let at = 0; at < 250; at += 50) expect(spool.put(reports.slice(at, at + 50))).toBe(true);
    expect(spool.size()).toBe(250);
    const inOrder = reports.toSorted((a, b) =>
      (a.results[0]?.meta.due_time ?? "") < (b.results[0]?.meta.due_time ?? "") ? -1 : 1,
    );
    expect(takeAll(spool)).toEqual(inOrder);
    expect(spool.size()).toBe(0);
  });

  it("keeps reports across restarts, readable only by its own user", async () => {
    using folder = newFolder();
    const reports = [dueAt(1), dueAt(2)];
    {
      using spool = folder.open();
      spool.put(reports);
    }
    expect(statSync(folder.path).mode & 0o777).toBe(0o600);
    using spool = folder.open();
    expect(await folder.metric("sonde_agent_spooled_reports")).toEqual([
      "sonde_agent_spooled_reports 2",
    ]);
    expect(spool.find(reports[1]?.run_id ?? "")).toEqual(reports[1]);
    expect(spool.find("another")).toBeUndefined();
    expect(takeAll(spool)).toEqual(reports);
    expect(folder.lines()).toEqual([]);
  });

  it("takes over the reports of an abandoned spool once", () => {
    using folder = newFolder();
    const left = join(folder.folder, "spool-2.db");
    const [own, ...others] = Array.from({ length: 250 }, (_, n) => dueAt(n));
    if (!own) throw new Error("no report");
    {
      using former = folder.open({ path: left });
      former.put(others);
    }
    for (let start = 0; start < 2; start += 1) {
      using spool = folder.open();
      spool.put([own]);
      folder.takeOver(spool, left);
      expect(spool.size()).toBe(250);
    }
    using former = folder.open({ path: left });
    expect(former.size()).toBe(0);
    expect(folder.lines().map(({ msg }) => msg)).toEqual(["took over a former agent's spool"]);
  });

  it("keeps the reports of a killed process", () => {
    using folder = newFolder();
    using spool = folder.open();
    const reports = [dueAt(1), dueAt(2)];
    spool.put(reports);
    const copy = join(folder.folder, "copy.db");
    // Copies the disk's state before anything is closed.
    copyFileSync(folder.path, copy);
    copyFileSync(`${folder.path}-wal`, `${copy}-wal`);
    using next = folder.open({ path: copy });
    expect(takeAll(next)).toEqual(reports);
  });

  it("removes only the given runs, even repeatedly", () => {
    using folder = newFolder();
    using spool = folder.open();
    const [first, second, third] = [dueAt(1), dueAt(2), dueAt(3)];
    spool.put([first, second, third]);
    spool.remove([second.run_id]);
    spool.remove([second.run_id, "another"]);
    expect(spool.size()).toBe(2);
    expect(spool.oldest()).toEqual([first, third]);
    spool.put([second]);
    expect(takeAll(spool)).toEqual([first, second, third]);
  });

  it("keeps the first report of a run", () => {
    using folder = newFolder();
    using spool = folder.open();
    const report = dueAt(1);
    spool.put([report]);
    spool.put([{ ...report, agent_id: "another" }, dueAt(2)]);
    expect(spool.size()).toBe(2);
    expect(spool.find(report.run_id)).toEqual(report);
  });

  it("returns small batches of large reports", () => {
    using folder = newFolder();
    using spool = folder.open();
    const reports = Array.from({ length: 10 }, (_, n) => largeAt(n, 200_000));
    spool.put(reports);
    expect(spool.oldest()).toHaveLength(2);
    expect(idsOf(takeAll(spool))).toEqual(idsOf(reports));
  });

  it("leaves the reports of another location alone", () => {
    using folder = newFolder();
    const [here, there] = [aReport(aRun()), aReport(aRun({ location_id: "there" }))];
    {
      using spool = folder.open();
      spool.put([here]);
    }
    {
      using spool = folder.open({ locationId: "there" });
      expect(spool.size()).toBe(0);
      spool.put([there]);
      expect(takeAll(spool)).toEqual([there]);
    }
    expect(folder.lines()).toMatchObject([
      { level: "warn", msg: LEFT, left: [{ location_id: "local", reports: 1 }] },
    ]);
    using spool = folder.open();
    expect(takeAll(spool)).toEqual([here]);
    expect(folder.lines()).toHaveLength(1);
  });

  it("drops the oldest beyond its bound, counts them, and logs once", async () => {
    using folder = newFolder();
    const bytes = Buffer.byteLength(JSON.stringify(dueAt(0)));
    using spool = folder.open({ maxBytes: 10 * bytes + 9 });
    const reports = Array.from({ length: 25 }, (_, n) => dueAt(n));
    for (const report of reports) expect(spool.put([report])).toBe(true);
    expect(await folder.metric("sonde_agent_spool_dropped_total{")).toEqual([
      'sonde_agent_spool_dropped_total{reason="full"} 15',
    ]);
    expect(folder.lines()).toMatchObject([
      { level: "warn", msg: "spool full: dropping the oldest reports" },
    ]);
    expect(idsOf(takeAll(spool))).toEqual(idsOf(reports.slice(15)));
  });

  it("keeps reports of any age: the hub decides what is too late", () => {
    using folder = newFolder();
    using spool = folder.open();
    const reports = [dueAt(-30 * 86_400), dueAt(0)];
    spool.put(reports);
    expect(takeAll(spool)).toEqual(reports);
  });
});

/** Changes the leaf pages of indexes. */
function changeIndexes(path: string, change: (page: Buffer) => void): void {
  const LEAF = 0x0a; // https://www.sqlite.org/fileformat2.html#b_tree_pages
  const bytes = readFileSync(path);
  const size = bytes.readUInt16BE(16);
  for (let at = size; at < bytes.length; at += size)
    if (bytes[at] === LEAF) change(bytes.subarray(at, at + size));
  const file = openSync(path, "r+");
  writeSync(file, bytes);
  closeSync(file);
}

/** Runs SQL on the closed file. */
function alter(path: string, sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}

describe("a spool of version 1", () => {
  it("is delivered after the upgrade, and accepts more reports", () => {
    using folder = newFolder();
    const reports = [dueAt(1), dueAt(2), dueAt(3)];
    const database = new DatabaseSync(folder.path);
    database.exec(`
      pragma auto_vacuum = full;
      pragma journal_mode = wal;
      create table reports (
        seq integer primary key,
        run_id text not null unique,
        location_id text not null,
        due_time integer not null,
        checksum integer not null,
        report blob not null
      ) strict;
      create index reports_by_due_time on reports (due_time, run_id);
      pragma user_version = 1;
    `);
    const insertion = database.prepare("insert into reports values (null, ?, 'local', ?, ?, ?)");
    for (const report of reports.toReversed()) {
      const encoded = Buffer.from(JSON.stringify(report));
      const due = Date.parse(report.results[0]?.meta.due_time ?? "");
      insertion.run(report.run_id, due, crc32(encoded), encoded);
    }
    database.close();
    const fresh = dueAt(4);
    {
      using spool = folder.open();
      expect(spool.put([fresh])).toBe(true);
    }
    using spool = folder.open();
    expect(takeAll(spool)).toEqual([...reports, fresh]);
    expect(folder.files().filter((name) => name.includes("aside"))).toEqual([]);
    expect(folder.lines()).toEqual([]);
  });
});

describe("an unusable spool", () => {
  const hundred = Array.from({ length: 100 }, (_, n) => dueAt(n));
  const truncate = (path: string): void =>
    writeFileSync(path, readFileSync(path).subarray(0, 30_000));

  it.each<[what: string, change: (path: string) => void]>([
    ["no database", (path) => writeFileSync(path, "x".repeat(9000))],
    ["another's database", (path) => alter(path, "alter table reports rename column report to a")],
    ["of another version", (path) => alter(path, "pragma user_version = 3")],
    ["truncated", truncate],
    ["damaged in its index", (path) => changeIndexes(path, (page) => page.fill(0, 3, 5))],
  ])("that is %s is set aside, with one log line, and starts empty", async (_, change) => {
    using folder = newFolder();
    {
      using spool = folder.open();
      spool.put(hundred);
    }
    change(folder.path);
    const { size } = statSync(folder.path);
    using spool = folder.open();
    expect(spool.size()).toBe(0);
    expect(statSync(`${folder.path}.aside-1`).size).toBe(size);
    expect(folder.lines()).toMatchObject([
      { level: "error", msg: UNUSABLE, moved_to: `${folder.path}.aside-1` },
    ]);
    expect(await folder.metric("sonde_agent_spool_failures_total")).toEqual([
      "sonde_agent_spool_failures_total 1",
    ]);
    expect(await folder.metric("sonde_agent_spool_dropped_total")).toContain(
      'sonde_agent_spool_dropped_total{reason="corrupt"} 1',
    );
    const report = dueAt(1000);
    expect(spool.put([report])).toBe(true);
    expect(takeAll(spool)).toEqual([report]);
  });

  it("that is damaged while it is open is set aside, too", async () => {
    using folder = newFolder();
    using spool = folder.open();
    // More than SQLite caches in memory.
    const reports = Array.from({ length: 3000 }, (_, n) => largeAt(n, 3000));
    for (let at = 0; at < 3000; at += 50) spool.put(reports.slice(at, at + 50));
    const file = openSync(folder.path, "r+");
    writeSync(file, Buffer.alloc(statSync(folder.path).size - 4096, 0xff), 0, null, 4096);
    closeSync(file);
    takeAll(spool);
    expect(folder.lines()).toMatchObject([{ level: "error", msg: UNUSABLE }]);
    const dropped = await folder.metric("sonde_agent_spool_dropped_total");
    const [, corrupt] = /"corrupt"} (\d+)/.exec(dropped.join("\n")) ?? [];
    expect(Number(corrupt)).toBeGreaterThan(2000);
    const report = dueAt(5000);
    expect(spool.put([report])).toBe(true);
    expect(takeAll(spool)).toEqual([report]);
  });

  it("is kept in two generations, the latest first", () => {
    using folder = newFolder();
    for (const damage of ["1", "2", "3"]) {
      writeFileSync(folder.path, damage.repeat(9000));
      folder.open()[Symbol.dispose]();
    }
    const aside = ["spool.db.aside-1", "spool.db.aside-2"];
    expect(folder.files()).toEqual(["spool.db", ...aside]);
    const [last, before] = aside.map((name) => readFileSync(join(folder.folder, name), "utf8"));
    expect([last?.[0], before?.[0]]).toEqual(["3", "2"]);
  });

  it.each(Array.from({ length: 12 }, (_, n) => n))(
    "never stops the agent: bits flipped in part %i of the file",
    (part) => {
      using folder = newFolder();
      {
        using spool = folder.open();
        spool.put(hundred);
      }
      const bytes = readFileSync(folder.path);
      for (let n = 0; n < 40; n += 1) {
        const at = Math.floor((bytes.length * part) / 12) + n * 101;
        if (at < bytes.length) bytes[at] = (bytes[at] ?? 0) ^ (1 << (n % 8));
      }
      writeFileSync(folder.path, bytes);
      using spool = folder.open();
      const ids = new Set(idsOf(hundred));
      for (const { run_id } of takeAll(spool)) expect(ids).toContain(run_id);
      const report = dueAt(1000);
      expect(spool.put([report])).toBe(true);
      expect(takeAll(spool)).toContainEqual(report);
    },
  );
});

it("a report that cannot be read is dropped and counted, and the others are delivered", async () => {
  using folder = newFolder();
  const reports = Array.from({ length: 10 }, (_, n) => dueAt(n));
  {
    using spool = folder.open();
    spool.put(reports);
  }
  alter(folder.path, `${CUT} where run_id = '${reports[3]?.run_id}'`);
  using spool = folder.open();
  expect(takeAll(spool)).toEqual(reports.filter((_, n) => n !== 3));
  expect(spool.size()).toBe(0);
  expect(await folder.metric("sonde_agent_spool_dropped_total{")).toEqual([
    'sonde_agent_spool_dropped_total{reason="corrupt"} 1',
  ]);
  expect(folder.lines()).toMatchObject([
    { level: "error", msg: "dropped unreadable reports", run_ids: [reports[3]?.run_id] },
  ]);
});

/** A program that opens the spool at a path, as another process does, and prints a value. */
const printing = (value: string): string => `
  import { createAgentMetrics } from "./src/agent/metrics.ts";
  import { createSpool } from "./src/agent/reporting/spool.ts";
  import { createLogger } from "./src/runtime/logger.ts";
  import { createRegistry } from "./src/runtime/metrics.ts";
  const spool = createSpool({
    path: process.argv[1],
    locationId: "local",
    log: createLogger("silent"),
    metrics: createAgentMetrics(createRegistry({ version: "test" })),
  });
  spool.open();
  console.log(JSON.stringify(${value}));
`;
const OLDEST = "spool.oldest().map(({ run_id }) => run_id)";
const ROOT = join(import.meta.dirname, "../../..");

describe("an unavailable spool", () => {
  it("logs once, counts each failure, and recovers", async () => {
    using folder = newFolder();
    const other = new DatabaseSync(folder.path);
    other.exec("begin exclusive");
    using spool = folder.open();
    const reports = [dueAt(1), dueAt(2)];
    expect(spool.put(reports)).toBe(false);
    expect(spool.put(reports)).toBe(false);
    expect(spool.oldest()).toEqual([]);
    expect(spool.size()).toBeUndefined();
    expect(folder.lines()).toMatchObject([
      {
        level: "error",
        msg: "spool unavailable: reports wait in memory",
        err: {
          message:
            "another agent uses it: give each its own folder with SONDE_DATA_DIR: database is locked",
        },
      },
    ]);
    const [failures = ""] = await folder.metric("sonde_agent_spool_failures_total");
    expect(Number(failures.split(" ")[1])).toBeGreaterThan(2);
    other.close();
    expect(spool.put(reports)).toBe(true);
    expect(takeAll(spool)).toEqual(reports);
    expect(folder.lines().map(({ msg }) => msg)).toContain("spool available again");
  });

  it("returns the readable reports of a full disk, even if it cannot drop an unreadable one", () => {
    using folder = newFolder();
    const reports = [dueAt(1), dueAt(2), dueAt(3)];
    {
      using spool = folder.open();
      spool.put(reports);
    }
    alter(folder.path, `${CUT} where run_id = '${reports[0]?.run_id}'`);
    const [program, ...words]: [string, ...string[]] = [
      ...limitFiles(8192), // enough to open the spool, and no more
      process.execPath,
      "--input-type=module",
      "--eval",
      printing(OLDEST),
      folder.path,
    ];
    const printed = execFileSync(program, words, { cwd: ROOT, encoding: "utf8" });
    expect(JSON.parse(printed)).toEqual(idsOf(reports.slice(1)));
    using spool = folder.open();
    expect(takeAll(spool)).toEqual(reports.slice(1));
  });

  it("belongs to one process", () => {
    using folder = newFolder();
    const report = dueAt(1);
    const inAnother = (value: string): unknown => {
      const words = ["--input-type=module", "--eval", printing(value), folder.path];
      return JSON.parse(execFileSync(process.execPath, words, { cwd: ROOT, encoding: "utf8" }));
    };
    const putting = `spool.put([${JSON.stringify(dueAt(2))}])`;
    {
      using first = folder.open();
      expect(first.put([report])).toBe(true);
      expect(inAnother(`[${putting}, ${OLDEST}]`)).toEqual([false, []]);
      using second = folder.open();
      expect(second.put([dueAt(3)])).toBe(false);
      expect(first.oldest()).toEqual([report]);
    }
    expect(inAnother(`[${putting}, spool.size()]`)).toEqual([true, 2]);
  });

  it("opens as soon as the previous process is gone", () => {
    using folder = newFolder();
    const before = folder.open();
    const report = dueAt(1);
    const taken = dueAt(0);
    before.put([taken, report]);
    using spool = folder.open();
    expect(spool.find(report.run_id)).toBeUndefined();
    spool.remove([taken.run_id]);
    before.close();
    expect(idsOf(spool.oldest())).toEqual([report.run_id]);
    expect(spool.find(report.run_id)).toEqual(report);
    expect(spool.size()).toBe(1);
    expect(folder.lines().map(({ msg }) => msg)).toEqual([
      "spool unavailable: reports wait in memory",
      "spool available again",
    ]);
  });

  it("is logged once if its folder is missing", () => {
    using folder = newFolder();
    using spool = folder.open({
      path: join(folder.folder, "nowhere", "spool.db"),
    });
    expect(spool.put([dueAt(1)])).toBe(false);
    expect(folder.lines()).toHaveLength(1);
  });
});
