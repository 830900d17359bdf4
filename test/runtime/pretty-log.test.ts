// The log for people: what a line shows, and that nothing in it moves the cursor.
import { expect, it } from "vitest";
import { createPrettyFormat } from "../../src/runtime/pretty-log.ts";

const at = (hour: number, minute: number, second: number): string =>
  new Date(2026, 9, 1, hour, minute, second).toISOString();
const TIME = at(12, 0, 5);

/** Returns how lines look on a terminal of this width; by default they do not wrap. */
function shown(fields: object, columns?: number): string {
  const format = createPrettyFormat({ hasColors: false, columns: () => columns });
  return format(`${JSON.stringify({ level: "info", time: TIME, ...fields })}\n`);
}

const FAILED_CALL = {
  role: "agent",
  call_id: "01k6fr5m00a2b3c4d5e6f7g8h9",
  call_name: "Sign in",
  deployment_id: "01k6fr5m00a2b3c4d5e6f7g8ha",
  result_id: "01k6fr5m00a2b3c4d5e6f7g8hb",
  result: "HTTP_SERVER_ERROR",
  http_code: 500,
  latency_ms: 633.965,
  lateness_ms: 2,
  msg: "call finished",
};

it.each<[string, object, string]>([
  [
    "a name in place of ids, and durations with their unit",
    FAILED_CALL,
    '12:00:05  INFO: agent      call finished  call="Sign in" result=HTTP_SERVER_ERROR http_code=500 latency=634ms lateness=2ms\n',
  ],
  [
    "ids last, and no longer than they must be",
    {
      role: "renewal",
      token_id: FAILED_CALL.call_id,
      reason: "no answer",
      msg: "token not renewed",
    },
    '12:00:05  INFO: renewal    token not renewed  reason="no answer" token_id=01k6fr5m00…\n',
  ],
  [
    "the time of day of an instant, with the date of another day",
    { slot: at(12, 1, 0), from: new Date(2026, 8, 30, 1, 2, 3).toISOString(), msg: "m" },
    '12:00:05  INFO: sonde      m  slot=12:01:00 from="2026-09-30 01:02:03"\n',
  ],
  [
    "no braces for lists and objects",
    { roles: ["api", "agent"], failing: [{ part: "bus", reason: "no answer" }], msg: "m" },
    '12:00:05  INFO: sonde      m  roles=api,agent failing.0.part=bus failing.0.reason="no answer"\n',
  ],
  [
    "long durations in seconds",
    { duration_ms: 12_345, msg: "m" },
    "12:00:05  INFO: sonde      m  duration=12.3s\n",
  ],
  ["the level in its column", { level: "error", msg: "m" }, "12:00:05 ERROR: sonde      m\n"],
  [
    "a warning's error with its causes and its code",
    {
      level: "warn",
      err: { type: "TypeError", message: "no: refused", stack: "x\n    at a", code: "E1" },
      msg: "m",
    },
    "12:00:05  WARN: sonde      m\n    TypeError: no: refused (E1)\n",
  ],
  [
    "the place in the code where a person must act",
    {
      level: "error",
      err: {
        type: "Error",
        message: "no: refused",
        stack: "Error: no\n    at a (b.ts:1)\ncaused by: Error: refused\n    at c",
      },
      msg: "m",
    },
    "12:00:05 ERROR: sonde      m\n    Error: no: refused\n    at a (b.ts:1)\n    caused by: Error: refused\n    at c\n",
  ],
  [
    "controls and marks of direction as text",
    { call_name: "\u001b[2J\u009b\r\n\u202ex", msg: "\u0007m" },
    String.raw`12:00:05  INFO: sonde      \u0007m  call=\u001b[2J\u009b\u000d\u000a\u202ex` + "\n",
  ],
])("shows %s", (_, fields, line) => {
  expect(shown(fields)).toBe(line);
});

it("wraps a line between its fields, aligned with the message", () => {
  const lines = shown(FAILED_CALL, 80).trimEnd().split("\n");
  expect(lines).toEqual([
    '12:00:05  INFO: agent      call finished  call="Sign in"',
    "                           result=HTTP_SERVER_ERROR http_code=500 latency=634ms",
    "                           lateness=2ms",
  ]);
});

it("names an agent in its first line, and again only when it is another", () => {
  const format = createPrettyFormat({ hasColors: false, columns: () => undefined });
  const line = (agent_id: string): string =>
    format(
      JSON.stringify({
        level: "info",
        time: TIME,
        role: "agent",
        location_id: "here",
        agent_id,
        msg: "m",
      }),
    );
  expect([line("one"), line("one"), line("two")]).toEqual([
    "12:00:05  INFO: agent      m  location_id=here agent_id=one\n",
    "12:00:05  INFO: agent      m\n",
    "12:00:05  INFO: agent      m  agent_id=two\n",
  ]);
});

it("colours on a terminal that has colours", () => {
  const format = createPrettyFormat({ hasColors: true, columns: () => undefined });
  const line = format(JSON.stringify({ level: "warn", time: TIME, slot: "s", msg: "m" }));
  expect(line).toContain("\u001b[33mWARN");
  expect(line).toContain("\u001b[2mslot=\u001b[22ms");
});

it("passes on lines that are not JSON", () => {
  const format = createPrettyFormat({ hasColors: false, columns: () => undefined });
  expect(format("plain")).toBe("plain\n");
});
