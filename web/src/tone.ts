// The tone of a result, which is shown by a colour, a shape and a word.
import type { ResultCategory, ResultCode } from "../../src/model/result.ts";

export type Tone = "pass" | "warn" | "fail" | "missed" | "none";

export function toneOf(
  code: ResultCode | null | undefined,
  category: ResultCategory | null | undefined,
): Tone {
  if (category === "PASS") return "pass";
  if (category === "WARNING") return "warn";
  if (category === "FAIL") return "fail";
  return code === "MISSED" ? "missed" : "none";
}
