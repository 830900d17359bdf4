// How a run, or a step of it, ended.
import type { ResultCategory, ResultCode } from "../../../src/model/result.ts";
import { State } from "./state.tsx";
import { toneOf } from "../tone.ts";

const WORDS: Readonly<Record<ResultCode, string>> = {
  COMPLETE: "Passed",
  HTTP_REDIRECT_ERROR: "Warning",
  HTTP_CLIENT_ERROR: "Warning",
  HTTP_SERVER_ERROR: "Failed",
  CONNECTION_ERROR: "Failed",
  QUEUED: "Queued",
  PROCESSING: "Running",
  SKIPPED: "Skipped",
  UNABLE_TO_RUN: "Unable to run",
  AGENT_ERROR: "Agent error",
  MISSED: "Missed",
};

interface Outcome {
  readonly result: ResultCode;
  readonly result_category: ResultCategory | null;
}

export const wordOf = ({ result }: Pick<Outcome, "result">): string => WORDS[result];

export const RunState = ({ result, result_category }: Outcome) => (
  <State tone={toneOf(result, result_category)} word={wordOf({ result })} />
);
