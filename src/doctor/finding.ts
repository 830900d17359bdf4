// Defines the findings of checks, and their overall state.
import type { Static } from "typebox";
import { nullable } from "../model/fields.ts";
import { Type } from "../model/type.ts";

/** Best to worst; skipped checks do not count. */
const STATES = ["skipped", "ok", "warning", "failure"] as const;
export type State = (typeof STATES)[number];

const Finding = Type.Object({
  check: Type.String({ description: "what was checked" }),
  state: Type.Enum([...STATES]),
  finding: Type.String({ minLength: 1, description: "what was found, and what is allowed" }),
  advice: nullable(Type.String({ minLength: 1 }), {
    description: "what to do about it",
  }),
});

/** The output of `sonde doctor --json`. */
export const DoctorReportSchema = Type.Object({
  version: Type.String({ description: "of this Sonde" }),
  time: Type.String({ description: "of the examination" }),
  roles: Type.Array(Type.String()),
  state: Type.Enum(["ok", "warning", "failure"], { description: "the worst of all findings" }),
  findings: Type.Array(Finding),
});

export type DoctorReport = Static<typeof DoctorReportSchema>;
export type ReportedFinding = Readonly<Static<typeof Finding>>;

/** A finding is one plain sentence. */
export interface Finding {
  readonly state: State;
  readonly finding: string;
  readonly advice?: string;
}

export const ok = (finding: string): Finding => ({ state: "ok", finding });
export const skipped = (finding: string): Finding => ({ state: "skipped", finding });
export const warning = (finding: string, advice: string): Finding => ({
  state: "warning",
  finding,
  advice,
});
export const failure = (finding: string, advice: string): Finding => ({
  state: "failure",
  finding,
  advice,
});

export const worstOf = (findings: readonly Pick<Finding, "state">[]): DoctorReport["state"] =>
  (["failure", "warning"] as const).find((state) =>
    findings.some((each) => each.state === state),
  ) ?? "ok";

/** The exit codes of monitoring plugins: 0 ok, 1 warning, 2 critical. */
export const EXIT_CODES: Readonly<Record<DoctorReport["state"], number>> = {
  ok: 0,
  warning: 1,
  failure: 2,
};

/**
 * Turns an error into a finding. Our messages say what happened and, after a colon outside
 * parentheses, what to do.
 */
export function failureOf(cause: unknown): Finding {
  const message = cause instanceof Error ? cause.message : String(cause);
  let depth = 0;
  for (let at = message.length - 1; at > 0; at -= 1) {
    const letter = message[at];
    if (letter === ")") depth += 1;
    else if (letter === "(") depth -= 1;
    else if (depth === 0 && letter === ":" && message[at + 1] === " ")
      return failure(message.slice(0, at), message.slice(at + 2));
  }
  return failure(message, "see the log of the service");
}
