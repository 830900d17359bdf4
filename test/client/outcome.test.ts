// How the outcome of a run is worded.
import { expect, it } from "vitest";
import { workflowOutcomeOf } from "../../src/client/outcome.ts";
import type { WorkflowOutcome } from "../../src/client/outcome.ts";

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
