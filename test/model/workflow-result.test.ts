import { expect, it } from "vitest";
import type { Result, ResultCode } from "../../src/model/result.ts";
import {
  countsOfWorkflow,
  outcomeOfWorkflow,
  quotedCall,
  stopsWorkflow,
} from "../../src/model/workflow-result.ts";
import { aResult, aRun } from "../support/runs.ts";

const results = (codes: readonly ResultCode[]): Result[] =>
  codes.map((result) => aResult(aRun(), { result }));

it.each<[string, ResultCode[], ResultCode, string | null]>([
  ["whose calls all passed", ["COMPLETE", "COMPLETE"], "COMPLETE", "PASS"],
  ["with a failed call", ["COMPLETE", "HTTP_SERVER_ERROR", "SKIPPED"], "HTTP_SERVER_ERROR", "FAIL"],
  ["that failed twice", ["CONNECTION_ERROR", "HTTP_SERVER_ERROR"], "CONNECTION_ERROR", "FAIL"],
  [
    "with a warning before a failure",
    ["HTTP_CLIENT_ERROR", "CONNECTION_ERROR"],
    "CONNECTION_ERROR",
    "FAIL",
  ],
  [
    "with a warning and a call that could not run",
    ["UNABLE_TO_RUN", "HTTP_REDIRECT_ERROR"],
    "HTTP_REDIRECT_ERROR",
    "WARNING",
  ],
  ["with our own fault", ["COMPLETE", "AGENT_ERROR"], "AGENT_ERROR", null],
  [
    "with a call that could not run",
    ["COMPLETE", "SKIPPED", "UNABLE_TO_RUN"],
    "UNABLE_TO_RUN",
    null,
  ],
  ["that was cut off", ["COMPLETE", "SKIPPED"], "SKIPPED", null],
])("a workflow %s ends as its worst call did", (_what, codes, result, category) => {
  const outcome = outcomeOfWorkflow(results(codes));
  expect(outcome).toMatchObject({ result, result_category: category });
});

it("says which call ended it, and why", () => {
  const [first, second] = results(["COMPLETE", "CONNECTION_ERROR"]);
  const failed = {
    ...second!,
    meta: { ...second!.meta, message: "timeout: no response arrived in time" },
  };
  expect(outcomeOfWorkflow([first!, failed]).message).toBe(
    "call 2 of 2 ended with CONNECTION_ERROR: timeout: no response arrived in time",
  );
  expect(outcomeOfWorkflow([first!]).message).toBeNull();
});

it.each<[string | null, ReturnType<typeof quotedCall>]>([
  [
    "call 12 of 20 ended with CONNECTION_ERROR: reset: a: b",
    { step: 11, unquoted: "call 12 of 20 ended with CONNECTION_ERROR" },
  ],
  ["call 2 of 2 ended with HTTP_SERVER_ERROR", undefined],
  ["still_running: the previous run has not ended", undefined],
  [null, undefined],
])("finds the call whose message a run repeats: %j", (message, quoted) => {
  expect(quotedCall(message)).toEqual(quoted);
});

it("counts how calls ended", () => {
  const codes: ResultCode[] = [
    "COMPLETE",
    "COMPLETE",
    "HTTP_CLIENT_ERROR",
    "HTTP_SERVER_ERROR",
    "SKIPPED",
    "UNABLE_TO_RUN",
  ];
  expect(countsOfWorkflow(results(codes))).toEqual({
    calls: 6,
    passed: 2,
    warnings: 1,
    failed: 1,
    not_made: 2,
  });
});

it.each<[ResultCode, boolean]>([
  ["COMPLETE", false],
  ["HTTP_REDIRECT_ERROR", true],
  ["HTTP_CLIENT_ERROR", true],
  ["HTTP_SERVER_ERROR", true],
  ["CONNECTION_ERROR", true],
  ["UNABLE_TO_RUN", false],
  ["SKIPPED", false],
  ["AGENT_ERROR", false],
])("%s stops a workflow: %s", (code, stops) => {
  expect(results([code]).map(stopsWorkflow)).toEqual([stops]);
});
