// How the outcome of a run is worded, and the exit code for it.
import { expect, it } from "vitest";
import { exitCodeOf, outcomeOf, workflowOutcomeOf } from "../../src/client/outcome.ts";
import type { WorkflowOutcome } from "../../src/client/outcome.ts";
import type { Result } from "../../src/model/result.ts";

const aResult = (parts: object): Result =>
  ({
    id: "r",
    meta: {
      result: "COMPLETE",
      result_category: "PASS",
      url: "http://shop.example/",
      due_time: "",
      message: null,
    },
    timing: { total: null },
    hops: [],
    ...parts,
  }) as unknown as Result;

const PLAIN = { width: undefined, paint: (_color: unknown, text: string) => text };

it.each([
  [1, "1 call, 0 passed, 1 warning, 0 failed, 0 not made"],
  [2, "2 calls, 0 passed, 2 warnings, 0 failed, 0 not made"],
])("counts the calls of a workflow: %s", (calls, said) => {
  const outcome = {
    id: "r",
    meta: { result: "HTTP_CLIENT_ERROR", result_category: "WARNING", name: "w", message: null },
    counts: { calls, passed: 0, warnings: calls, failed: 0, not_made: 0 },
  } as unknown as WorkflowOutcome;
  expect(workflowOutcomeOf(outcome, PLAIN).split("\n")[1]).toBe(said);
});

it.each([
  ["POST http://shop.example/", []],
  // The request is the last one, which a redirect made a GET.
  ["http://shop.example/", [{ url: "http://shop.example/" }]],
])("names the call as %s", (said, hops) => {
  const request = { method: "POST", url: "http://shop.example/new" };
  expect(outcomeOf(aResult({ request, hops }), PLAIN).split("\n")[1]).toBe(said);
});

it.each([
  ["COMPLETE", "PASS", 0],
  ["CONNECTION_ERROR", "FAIL", 1],
  ["HTTP_CLIENT_ERROR", "WARNING", 2],
  ["MISSED", null, 3],
  ["QUEUED", null, 4],
] as const)("%s exits with its code", (result, result_category, code) => {
  expect(exitCodeOf({ result, result_category })).toBe(code);
});

it.each([
  [2, "ends in 2 days"],
  [1, "ends in 1 day"],
  [0, "ends in 0 days"],
  [-1, "ended on 2026-11-30"],
])("says when the certificate ends: %s days", (days, said) => {
  const certificate = { subject: "CN=shop", days, expiry: "2026-11-30T03:25:06.000000Z" };
  expect(outcomeOf(aResult({ certificate }), PLAIN)).toContain(`certificate of CN=shop ${said}\n`);
});
