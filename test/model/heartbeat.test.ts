import { describe, expect, it } from "vitest";
import { heartbeatAnswerValidator, heartbeatValidator } from "../../src/model/heartbeat.ts";
import { aHeartbeat } from "../bus/buses.ts";

const complete = {
  ...aHeartbeat("here"),
  protocol: 2,
  state: "draining",
  capacity: 500,
  held: 12,
  spool: { reports: 3, bytes: 4096 },
  remote_addr: "2001:db8::1",
  clock_offset_ms: -3.5,
};

describe("a heartbeat", () => {
  it.each<[string, object]>([
    ["of this version", complete],
    ["of an older version, without what has been added since", aHeartbeat("here")],
    ["of a newer version, with what this one does not know", { ...complete, mood: ["good"] }],
    ["with a state of a newer version", { ...complete, state: "on_holiday" }],
  ])("%s is accepted", (_, heartbeat) => {
    expect(heartbeatValidator.accepts(heartbeat)).toBe(true);
  });

  it.each<[string, object]>([
    ["an agent id of 300 KB", { agent_id: "a".repeat(300_000) }],
    ["an agent id of nothing", { agent_id: "" }],
    ["an agent id that a terminal would obey", { agent_id: "a\u001b[2J" }],
    ["a version of 65 characters", { version: "1".repeat(65) }],
    ["a version that a terminal would obey", { version: "1\u001b[2J" }],
    ["an infinite number of runs", { in_flight: 1e300 }],
    ["fewer runs than none", { in_flight: -1 }],
    ["more places than any machine has", { capacity: 1e9 }],
    ["a spool that is no spool", { spool: 5 }],
    ["a spool of negative size", { spool: { reports: 0, bytes: -1 } }],
    ["a time that is no instant", { sent: 1e300 }],
    ["an address that is none", { remote_addr: "<script>" }],
    ["a long state", { state: "a".repeat(33) }],
    ["a fraction of a protocol", { protocol: 1.5 }],
  ])("with %s is refused", (_, fault) => {
    expect(heartbeatValidator.accepts({ ...complete, ...fault })).toBe(false);
  });
});

it.each<[object, boolean]>([
  [{ now: 0 }, true],
  [{ now: 0, drain: true, refused: "too old", of_a_newer_version: 1 }, true],
  [{ now: "soon" }, false],
  [{ now: -1 }, false],
  [{ now: 0, drain: "yes" }, false],
  [{ now: 0, refused: "" }, false],
  [{ now: 0, refused: "x".repeat(501) }, false],
])("an agent accepts the answer %j: %j", (answer, accepted) => {
  expect(heartbeatAnswerValidator.accepts(answer)).toBe(accepted);
});
