// The rules of `sonde doctor` that tests of real systems cannot provoke, or only slowly.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { readConfig } from "../../src/config/config.ts";
import type { ListedAgent } from "../../src/model/agent.ts";
import { agentFindings } from "../../src/doctor/agents.ts";
import { runChecks } from "../../src/doctor/check.ts";
import { offsetFinding } from "../../src/doctor/clocks.ts";
import { folderFindings } from "../../src/doctor/data-folder.ts";
import { schemaFinding } from "../../src/doctor/database.ts";
import { databaseDisk, diskFinding } from "../../src/doctor/disk.ts";
import { lengthOf, percent, sizeOf } from "../../src/doctor/amounts.ts";
import { failureOf } from "../../src/doctor/finding.ts";
import type { Finding } from "../../src/doctor/finding.ts";
import { ledgerFindings } from "../../src/doctor/ledger.ts";
import { nameServerFindings, uplinkCheck } from "../../src/doctor/network.ts";
import { permissionFindings, streamFindings } from "../../src/doctor/nats.ts";
import { readinessFindings, silenceFindings } from "../../src/doctor/process.ts";
import { insightsFinding, schedulerFindings } from "../../src/doctor/scheduler.ts";
import { settingsCheck } from "../../src/doctor/settings.ts";
import { tableOf } from "../../src/doctor/table.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { freePort } from "../support/free-port.ts";

const NOW = Date.UTC(2026, 9, 5, 12, 0, 30);
const MIB = 1024 * 1024;

const textOf = ({ state, finding }: Finding): string => `${state}: ${finding}`;

const anAgent = (change: Partial<ListedAgent>): ListedAgent => ({
  location_id: "paris",
  agent_id: "agent-1",
  version: "1.1.0",
  protocol: 2,
  condition: "online",
  condition_since: NOW - 60_000,
  last_seen: NOW - 1000,
  capacity: 500,
  in_flight: 0,
  held: 0,
  spool_reports: 0,
  spool_bytes: 0,
  clock_offset_ms: 0,
  sent: NOW - 1000,
  remote_addr: "",
  created: 0,
  drain_ordered: false,
  ...change,
});

describe("advice", () => {
  it("names a page that says how", () => {
    const newer = schemaFinding({ applied: [], missing: [], unknown: ["0099"] }, "1.1.0");
    const [lonely] = agentFindings({
      now: NOW,
      version: "1.1.0",
      agents: [],
      locations: ["paris"],
      deployments: new Map([["paris", 3]]),
      only: undefined,
    });
    const said = [newer, lonely].map((finding) => {
      const page = /docs\/[\w-]+\.md/.exec(finding?.advice ?? "")?.[0] ?? "";
      return readFileSync(page, "utf8").match(/^sonde locations env|^## Restore/m)?.[0];
    });
    expect(said).toEqual(["## Restore", "sonde locations env"]);
  });
});

describe("agents", () => {
  const findings = (...agents: ListedAgent[]): string[] =>
    agentFindings({
      now: NOW,
      version: "1.1.0",
      agents,
      locations: ["paris", "tokyo"],
      deployments: new Map([["paris", 3]]),
      only: undefined,
    }).map(textOf);

  it.each([
    [{}, "ok: 1 agent is online, and each location with deployments has one"],
    [{ version: "1.0.0" }, "warning: agent agent-1 at paris has version 1.0.0 (the hub's: 1.1.0)"],
    [
      { last_seen: NOW - 20_000 },
      "warning: agent agent-1 at paris is stale: its last heartbeat came 20 s ago (allowed: 15 s)",
    ],
    [
      { spool_reports: 312, spool_bytes: 2 * MIB },
      "warning: agent agent-1 at paris holds 312 reports (2 MiB) in its spool (allowed: 0)",
    ],
  ])("%o", (change, expected) => {
    expect(findings(anAgent(change))).toEqual([expected]);
  });

  it("are named at a location that does not exist", () => {
    expect(findings(anAgent({}), anAgent({ agent_id: "agent-2", location_id: "pariss" }))).toEqual([
      "warning: agent agent-2 at pariss gets no runs: there is no location pariss",
    ]);
  });

  it("are missed where all are offline, draining or incompatible", () => {
    expect(findings(anAgent({ last_seen: NOW - 3 * 3_600_000 }))).toEqual([
      "failure: location paris has 3 deployments and no agent that accepts runs: its runs are MISSED",
      "warning: agent agent-1 at paris is offline: its last heartbeat came 3 h ago (allowed: 30 s)",
    ]);
    expect(findings(anAgent({ condition: "incompatible", version: "0.9.0" }))).toEqual([
      expect.stringMatching(/^failure: location paris has 3 deployments/),
      "failure: agent agent-1 at paris has version 0.9.0, which the hub (1.1.0) rejects",
    ]);
    expect(findings(anAgent({ condition: "draining" }))).toHaveLength(1);
    expect(findings()).toEqual([
      "failure: location paris has 3 deployments and no agent: its runs are MISSED",
    ]);
  });

  it("need no other one there where an operator can end their draining", () => {
    const [finding] = agentFindings({
      now: NOW,
      version: "1.1.0",
      agents: [anAgent({ condition: "draining" })],
      locations: ["paris"],
      deployments: new Map([["paris", 3]]),
      only: undefined,
    });
    expect(finding?.advice).toMatch(
      /^`sonde agents drain agent-1 --undo`, or start an agent there/,
    );
  });

  it.each([
    [undefined, "start an agent there: `sonde locations env paris` prints its settings"],
    ["paris", "start `sonde serve`: without NATS, its process has the agent"],
    ["local", "set SONDE_LOCATION=paris, or move its deployments to local: without NATS, only"],
  ])("can be started where they work: with %s as the only location", (only, expected) => {
    const deployments = new Map([["paris", 3]]);
    const facts = {
      now: NOW,
      version: "1.1.0",
      agents: [],
      locations: ["paris"],
      deployments,
      only,
    };
    const [lonely] = agentFindings(facts);
    expect(lonely?.advice).toContain(expected);
  });

  it("are not blamed where they fell silent together, since an aggregator may be missing", () => {
    const [first, second, gone] = [
      anAgent({ agent_id: "agent-1", last_seen: NOW - 128_000 }),
      anAgent({ agent_id: "agent-2", location_id: "tokyo", last_seen: NOW - 120_000 }),
      anAgent({ agent_id: "agent-3", last_seen: NOW - 3 * 3_600_000 }),
    ];
    const blamed = expect.stringMatching(/^failure: location paris has 3 deployments and no agent/);
    expect(findings(first, second, gone)).toEqual([
      "failure: no heartbeat was recorded for 2 min: 2 agents fell silent together",
    ]);
    expect(findings(first, gone)).toContainEqual(blamed);
    expect(findings(first, { ...second, last_seen: NOW })).toContainEqual(blamed);
    expect(findings(first, { ...second, condition: "stopped" })).toContainEqual(blamed);
  });

  it("are not called online while they drain", () => {
    const draining = anAgent({ agent_id: "agent-2", condition: "draining" });
    expect(findings(anAgent({}), draining)).toEqual([
      "ok: 1 agent is online and 1 draining, and each location with deployments has one",
    ]);
  });

  it("with the same fault are listed up to five", () => {
    const old = Array.from({ length: 40 }, (_, n) =>
      anAgent({ agent_id: `agent-${n}`, version: "1.0.0" }),
    );
    expect(findings(...old)).toHaveLength(6);
    expect(findings(...old).at(-1)).toBe("warning: and 35 more like these");
  });
});

describe("an agent that the hub does not answer", () => {
  it.each([
    ["sonde_agent_unanswered_heartbeats 2\n", []],
    [
      "sonde_agent_unanswered_heartbeats 3\n",
      ["failure: the hub has not answered the last 3 heartbeats of the agent here"],
    ],
    ["", []],
  ])("%j", (metrics, expected) => {
    expect(silenceFindings(metrics).map(textOf)).toEqual(expected);
  });
});

describe("clocks", () => {
  it.each([
    [{ ms: 300, error: 2 }, "ok: this machine's clock agrees with the database's within 302 ms"],
    [{ ms: 1500, error: 600 }, "ok: this machine's clock agrees with the database's within 2.1 s"],
    [
      { ms: 2300, error: 2 },
      "warning: this machine's clock is 2.3 s behind the database's (allowed: 1 s)",
    ],
    [
      { ms: -240_000, error: 2 },
      "failure: this machine's clock is 4 min ahead of the database's (allowed: 1 s)",
    ],
  ])("%o", (ahead, expected) => {
    expect(textOf(offsetFinding("the database's", ahead))).toBe(expected);
  });
});

describe("the scheduler", () => {
  const well = { now: NOW, deployments: 1, opening: [], expired: 0 };
  const cursor = Date.UTC(2026, 9, 5, 12);
  it.each([
    [
      { expires_at: NOW + 5000, cursor },
      "ok: a scheduler leads, and slots are open up to 2026-10-05T12:00:00Z",
    ],
    [
      { expires_at: NOW + 5000, cursor: cursor - 180_000 },
      "failure: the scheduler is behind: slots are open up to 2026-10-05T11:57:00Z, but should be open up to 2026-10-05T12:00:00Z",
    ],
    [
      { expires_at: NOW + 5000, cursor: cursor + 60_000 },
      "ok: a scheduler leads, and slots are open up to 2026-10-05T12:01:00Z",
    ],
    [
      { expires_at: NOW + 5000, cursor: cursor + 24 * 3_600_000 },
      /^failure: the scheduler opens no slot until its clock reaches the newest one again: slots are open up to 2026-10-06T12:00:00Z, 24 h ahead$/,
    ],
    [{ expires_at: 0, cursor }, /^failure: no scheduler leads: /],
    [undefined, "failure: no scheduler has ever run on this database"],
  ])("with the lease %o", (lease, expected) => {
    const [first] = schedulerFindings({ ...well, lease });
    expect(first && textOf(first)).toMatch(expected);
  });

  it("is reported if it leaves slots unopened or expired runs unrecorded", () => {
    const lease = { expires_at: NOW + 5000, cursor };
    const stuck = { ...well, lease, opening: [cursor - 600_000], expired: 7 };
    expect(schedulerFindings(stuck).slice(1).map(textOf)).toEqual([
      "warning: 1 slot that the scheduler has passed is not fully open, the oldest from 2026-10-05T11:50:00Z (allowed: those of the last two minutes)",
      "failure: 7 runs without an outcome expired more than a minute ago and are not recorded as MISSED",
    ]);
  });
});

it("MISSED runs are a warning with their reasons, lost runs a failure", () => {
  const slots = { from: NOW - 30_000, to: NOW + 30_000, slots: 1, due: 20, twice: 0 };
  const missed = new Map([
    ["started_late: 47 s", 2],
    ["bus_full: the bus had no room for the run", 1],
    ["started_late: 48.3 s", 1],
  ]);
  const example = { deployment_id: "d1", slot: NOW - 30_000 };
  const findings = ledgerFindings({ ...slots, missing: 2, missed, example });
  expect(findings.map(textOf)).toEqual([
    "failure: 2 of 20 runs due in the 1 slot from 2026-10-05T12:00:00Z to 2026-10-05T12:01:00Z have neither an outcome nor a pending run, for example that of deployment d1 due in the slot 2026-10-05T12:00:00Z",
    "warning: 4 runs were MISSED in the 1 slot from 2026-10-05T12:00:00Z to 2026-10-05T12:01:00Z (20 % of those due): 3 × started_late: 47 s; 1 × bus_full: the bus had no room for the run",
  ]);
});

it.each([
  [0, "no run was due", ", and none was missed"],
  [1, "the run due", " has an outcome or is pending, and was not missed"],
  [20, "each of the 20 runs due", " has an outcome or is pending, and none was missed"],
])("that none of %i runs is lost is well", (due, runs, state) => {
  const slots = { from: NOW - 30_000, to: NOW + 90_000, slots: 2, due, twice: 0 };
  const findings = ledgerFindings({ ...slots, missing: 0, missed: new Map(), example: undefined });
  const span = "in the 2 slots from 2026-10-05T12:00:00Z to 2026-10-05T12:02:00Z";
  expect(findings.map(textOf)).toEqual([`ok: ${runs} ${span}${state}`]);
});

it("reports that wait for more than an hour are overdue", () => {
  const finding = (minutes: number): string =>
    textOf(insightsFinding({ now: NOW, reports: 12, since: NOW - minutes * 60_000 }));
  expect(finding(50)).toBe("ok: 12 reports wait to be computed");
  expect(finding(150)).toBe(
    "warning: 12 reports wait to be computed, the oldest for 3 h (allowed: 1 h)",
  );
  expect(finding(3000)).toMatch(/^failure: .* for 2 days \(allowed: 1 h\)$/);
  expect(insightsFinding({ now: NOW, reports: 0, since: undefined }).state).toBe("ok");
});

it("a disk is a warning with less than 15 % free, a failure with less than 5 %", () => {
  const size = 100 * 1024 * MIB;
  const finding = (free: number): string => textOf(diskFinding("the disk", { free, size }));
  expect(finding(0.2 * size)).toBe("ok: the disk has 20 GiB of 100 GiB free (20 %)");
  expect(finding(0.1 * size)).toBe(
    "warning: the disk has 10 GiB of 100 GiB free (10 %; allowed: 15 %)",
  );
  const stateAt = (percentFree: number, less = 0): string =>
    diskFinding("the disk", { free: (percentFree * size) / 100 - less, size }).state;
  expect([stateAt(15), stateAt(15, 1), stateAt(5), stateAt(5, 1), stateAt(0)]).toEqual([
    "ok",
    "warning",
    "warning",
    "failure",
    "failure",
  ]);
});

it("a disk of PostgreSQL that cannot be seen is on another machine only if its address is", async () => {
  const finding = async (host: string, folder: string | null): Promise<string> =>
    textOf(await databaseDisk(`postgres://sonde@${host}/sonde`, { bytes: 1024, folder }));
  expect(await finding("db.test", null)).toMatch("PostgreSQL is on another machine");
  expect(await finding("db.test", tmpdir())).toMatch("PostgreSQL is on another machine");
  expect(await finding("localhost", tmpdir())).toMatch(`the disk of PostgreSQL (${tmpdir()}) has `);
  const ofContainer = join(tmpdir(), "no", "postgresql", "data");
  for (const unseen of [null, ofContainer]) {
    expect(await finding("localhost", unseen)).toMatch("may not see where the data is");
    expect(await finding("localhost", unseen)).not.toMatch("another machine");
  }
});

it("a file of another user than the folder's is a failure: a command was run as root", () => {
  const own = { path: "/data", mode: 0o40700, uid: 998 };
  const files = [{ path: "/data/sonde.db-wal", mode: 0o100600, uid: 0 }];
  expect(folderFindings({ ...own, files }, 998).map(textOf)).toEqual([
    "failure: /data/sonde.db-wal belongs to user 0, and the data folder to user 998: the service cannot use the file",
  ]);
});

it("the advice about a file or folder is a command for the shell, whatever its name", async () => {
  const at = mkdtempSync(join(tmpdir(), "sonde doctor "));
  onTestFinished(() => rmSync(at, { recursive: true }));
  const key = join(at, "a-key");
  writeFileSync(key, "", { mode: 0o644 });
  const folder = { path: at, mode: 0o40_755, uid: 998 };
  const findings = [
    ...folderFindings({ ...folder, files: [{ path: key, mode: 0o100_644, uid: 0 }] }, 998),
    ...(await settingsCheck({ ...readConfig({}), settingFiles: new Map([["A", key]]) }).run()),
  ];
  expect(findings.map(({ advice }) => advice)).toEqual([
    `chmod 0700 '${at}'`,
    `chmod 0600 '${key}'`,
    `chown 998 '${key}'; run the commands of Sonde as the user of the service`,
    `chmod o= '${key}'`,
  ]);
});

it("a volume that Kubernetes gave to the group of a pod is private, and its files are the pod's", () => {
  const volume = { path: "/data", mode: 0o42_775, uid: 0 };
  const ofUser = (uid: number) => [{ path: "/data/spool.db", mode: 0o100600, uid }];
  expect(folderFindings({ ...volume, files: ofUser(10_001) }, 10_001).map(textOf)).toEqual([
    "ok: /data is private to its user, and usable",
  ]);
  expect(folderFindings({ ...volume, files: ofUser(0) }, 10_001).map(textOf)).toEqual([
    "failure: /data/spool.db belongs to user 0, and the data folder to user 10001: the service cannot use the file",
  ]);
  const shared = { ...volume, mode: 0o40_775, files: [] };
  expect(folderFindings(shared, 10_001).map(({ state }) => state)).toEqual(["warning"]);
});

it("a subject that a user needs but may not use is a failure", () => {
  const subjects = [
    { subject: "sonde.results.paris", needed: true, allowed: false },
    { subject: "sonde.ticks.*", needed: false, allowed: false },
  ];
  expect(
    permissionFindings({ subjects }, { location: "paris", roles: ["agent"] }).map(textOf),
  ).toEqual([
    "failure: the NATS user of this process may not use the subject sonde.results.paris, which it needs",
  ]);
});

it.each([
  [["b"], "warning: the stream SONDE_TICKS has no current replica on b"],
  [
    ["b", "c"],
    "failure: the stream SONDE_TICKS has no current replica on b, c: it may store no message with 1 of 3",
  ],
])("a stream without current replicas on %s of three servers", (lagging, finding) => {
  const wanted = { maxBytes: MIB, replicas: 3 };
  const found = { messages: 0, bytes: 0, ...wanted, lagging };
  const stream = { name: "SONDE_TICKS", setting: "SONDE_NATS_TICKS_MIB", wanted, found };
  expect(streamFindings({ streams: [stream], clustered: true }).map(textOf)).toEqual([finding]);
});

it("what /readyz says is passed on", () => {
  const failing = [{ part: "bus", reason: "NATS at nats://a:4222: reconnecting" }];
  const body = JSON.stringify({ status: "not ready", failing });
  expect(readinessFindings("http://a/readyz", 503, body).map(textOf)).toEqual([
    "failure: the process is not ready: bus: NATS at nats://a:4222: reconnecting",
  ]);
  for (const foreign of ["<html>", "null", '{"failing":"all"}'])
    expect(readinessFindings("http://a/readyz", 404, foreign).map(textOf), foreign).toEqual([
      "failure: http://a/readyz answered 404, so it is not a Sonde process",
    ]);
});

it("a silent name server is a warning", () => {
  const answers = [
    { server: "10.0.0.1", code: "ENOTFOUND" },
    { server: "10.0.0.2", code: "ETIMEOUT" },
  ];
  expect(nameServerFindings(answers).map(textOf)).toEqual([
    "warning: not all name servers answer (10.0.0.2: ETIMEOUT), which delays calls",
  ]);
  expect(nameServerFindings([]).map(textOf)[0]).toMatch(/^warning: no name server answers/);
});

it("an uplink host that refuses the connection answers, as it does for an agent", async () => {
  const ground = { ...readConfig({}), clock: systemClock };
  const findings = async (...hosts: string[]): Promise<string[]> =>
    (await uplinkCheck(ground, hosts).run()).map(textOf);
  const refusing = `127.0.0.1:${await freePort()}`;
  expect(await findings(refusing)).toEqual([`ok: the uplink hosts answer (${refusing})`]);
  expect(await findings(refusing, "224.0.0.1:1")).toEqual([
    "warning: not all uplink hosts answer (224.0.0.1:1: ENETUNREACH)",
  ]);
  expect(await findings("hub.invalid:4222")).toEqual([
    "failure: no uplink host answers (hub.invalid:4222: dns_not_found): failures of calls count as uplink_down, against no target",
  ]);
});

it("the advice in an error is the advice of its finding", () => {
  const message =
    "cannot reach NATS at nats://a:4222 (getaddrinfo: ENOTFOUND a): start nats-server, or set SONDE_NATS_URL";
  expect(failureOf(new Error(message))).toEqual({
    state: "failure",
    finding: "cannot reach NATS at nats://a:4222 (getaddrinfo: ENOTFOUND a)",
    advice: "start nats-server, or set SONDE_NATS_URL",
  });
});

it("a check that fails, hangs or lacks a setting does not affect the others", async () => {
  const checks = [
    { name: "hangs", run: () => new Promise<never>(() => undefined) },
    { name: "fails", run: () => Promise.reject(new Error("no luck: try again")) },
    { name: "lacks", needs: ["roles", "natsUrls"] as const, run: async () => [] },
    { name: "works", run: async () => [{ state: "ok", finding: "it is there" }] as const },
  ];
  const findings = await runChecks(checks, new Map([["roles", "--roles"]]), 20);
  expect(findings.map(({ check, state }) => `${check} ${state}`)).toEqual([
    "hangs failure",
    "fails failure",
    "lacks skipped",
    "works ok",
  ]);
  expect(findings[2]?.finding).toBe("not checked, because --roles has no valid value");
  const lines = tableOf(
    { version: "1.1.0", time: "", roles: ["agent"], state: "failure", findings },
    60,
  ).split("\n");
  expect(lines).toContain("FAILURE  fails  No luck");
  expect(lines).toContain("                → try again");
  expect(lines).toContain("2 failures, 0 warnings.");
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(60);
});

it("durations, sizes and shares are short", () => {
  expect([850, 2300, 42_000, 840_000, 3 * 3_600_000, 9 * 86_400_000].map(lengthOf)).toEqual([
    "850 ms",
    "2.3 s",
    "42 s",
    "14 min",
    "3 h",
    "9 days",
  ]);
  expect([0, 512, 921 * 1024, 1.5 * MIB, 300 * MIB].map(sizeOf)).toEqual([
    "0 bytes",
    "512 bytes",
    "921 KiB",
    "1.5 MiB",
    "300 MiB",
  ]);
  expect([0, 0.004, 0.25].map(percent)).toEqual(["0 %", "0.4 %", "25 %"]);
});
