// Instants as days and clock times.
import { expect, it, onTestFinished, vi } from "vitest";
import {
  formatAgo,
  instantIn,
  localText,
  offsetHere,
  rangeText,
  utcText,
} from "../../web/src/clock.ts";

/** Of a place whose clock is set back, or forward, at an instant. */
const changes = (at: string, before: number, after: number) => (ms: number) =>
  ms < Date.parse(at) ? before : after;

const BERLIN = changes("2026-10-25T01:00Z", 120, 60);
const LORD_HOWE = changes("2026-04-04T15:00Z", 660, 630);
const ST_JOHNS = changes("2026-11-01T04:30Z", -150, -210);

it.each([
  ["2026-10-24T23:59:59Z", BERLIN, "2026-10-25 01:59:59"],
  ["2026-10-25T00:00:00Z", BERLIN, "2026-10-25 02:00:00 +02:00"],
  ["2026-10-25T00:59:59Z", BERLIN, "2026-10-25 02:59:59 +02:00"],
  ["2026-10-25T01:00:00Z", BERLIN, "2026-10-25 02:00:00 +01:00"],
  ["2026-10-25T02:00:00Z", BERLIN, "2026-10-25 03:00:00"],
  ["2026-10-25T23:30:00Z", BERLIN, "2026-10-26 00:30:00"],
  ["2026-04-04T14:29:59Z", LORD_HOWE, "2026-04-05 01:29:59"],
  ["2026-04-04T14:30:00Z", LORD_HOWE, "2026-04-05 01:30:00 +11:00"],
  ["2026-04-04T15:29:00Z", LORD_HOWE, "2026-04-05 01:59:00 +10:30"],
  ["2026-11-01T04:30:00Z", ST_JOHNS, "2026-11-01 01:00:00 -03:30"],
  ["2026-03-29T00:59:59Z", changes("2026-03-29T01:00Z", 60, 120), "2026-03-29 01:59:59"],
  ["2026-03-29T01:00:00Z", changes("2026-03-29T01:00Z", 60, 120), "2026-03-29 03:00:00"],
])(
  "%s has an offset in local time only if the clock shows the time twice",
  (iso, offsetAt, text) => {
    expect(localText(Date.parse(iso), offsetAt)).toBe(text);
  },
);

it.each([
  [0, "0 s ago"],
  [59, "59 s ago"],
  [60, "1 min ago"],
  [3599, "59 min ago"],
  [3600, "1 h ago"],
  [86_399, "23 h ago"],
  [86_400, "1 d ago"],
  [100 * 86_400, "100 d ago"],
  [-1, "in 1 s"],
  [-7200, "in 2 h"],
])("%i seconds ago is %s", (seconds, text) => {
  const now = Date.parse("2026-10-25T00:30Z");
  expect(formatAgo(now - seconds * 1000, now)).toBe(text);
});

it("writes the minutes of a range", () => {
  const [from, to] = [Date.parse("2026-10-25T00:30Z"), Date.parse("2026-10-25T01:45Z")];
  expect(rangeText(utcText(from), utcText(to))).toBe("2026-10-25 00:30 to 2026-10-25 01:45 UTC");
  expect(rangeText(localText(from, BERLIN), localText(to, BERLIN))).toBe(
    "2026-10-25 02:30 +02:00 to 2026-10-25 02:45 +01:00",
  );
  expect(
    rangeText(
      localText(from - 86_400_000, BERLIN),
      localText(from, () => 0),
    ),
  ).toBe("2026-10-24 02:30 to 2026-10-25 00:30");
});

it.each(["Europe/Berlin", "America/St_Johns", "Asia/Kathmandu"])(
  "is the time that was typed, in %s, also in a year of few digits",
  (zone) => {
    vi.stubEnv("TZ", zone);
    onTestFinished(() => void vi.unstubAllEnvs());
    for (const text of ["0002-11-28 10:00:00", "0202-03-01 00:00:00", "2026-11-28 10:00:00"])
      expect(localText(new Date(text.replace(" ", "T")).getTime(), offsetHere)).toBe(text);
  },
);

it("is UTC without an offset", () => {
  expect(utcText(Date.parse("2026-10-25T00:00:00Z"))).toBe("2026-10-25 00:00:00 UTC");
});

it.each([
  ["2026-11-28T10:00", "2026-11-28T10:00:00.000Z"],
  ["2026-11-28T10:00+01:00", "2026-11-28T09:00:00.000Z"],
  ["2026-11-28", "2026-11-28T00:00:00.000Z"],
  ["2026-02-30T10:00Z", ""],
  ["yesterday", ""],
  [undefined, ""],
])("%s in an address is %s, wherever it is opened", (text, iso) => {
  vi.stubEnv("TZ", "Asia/Kathmandu");
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(instantIn(text)).toBe(iso);
});
