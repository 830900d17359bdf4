// Formats a report for people: one finding per paragraph, with its advice below.
import { count } from "../model/count.ts";
import type { DoctorReport, ReportedFinding, State } from "./finding.ts";

const WORDS: Readonly<Record<State, string>> = {
  ok: "ok",
  skipped: "skipped",
  warning: "WARNING",
  failure: "FAILURE",
};
const STATE_WIDTH = 9;
const LEAST_WIDTH = 40;

/** `columns`: the width of the terminal; without it, lines are not wrapped. */
export function tableOf(report: DoctorReport, columns = Infinity): string {
  const { findings, version, roles } = report;
  const width = Math.max(...findings.map(({ check }) => check.length)) + 2;
  const margin = STATE_WIDTH + width;
  const textWidth = Math.max(LEAST_WIDTH, columns - margin - 1);
  const lines = findings.flatMap(({ check, state, finding, advice }) => {
    const text = [
      ...wrap(capitalized(finding), textWidth),
      ...(advice === null ? [] : wrap(`→ ${advice}`, textWidth)),
    ];
    const first = WORDS[state].padEnd(STATE_WIDTH) + check.padEnd(width);
    return text.map((line, at) => (at === 0 ? first : " ".repeat(margin)) + line);
  });
  const head = `Sonde ${version}, with the roles ${roles.join(", ")}`;
  return [head, "", ...lines, "", summaryOf(findings), ""].join("\n");
}

function summaryOf(findings: readonly ReportedFinding[]): string {
  const number = (state: State): number => findings.filter((each) => each.state === state).length;
  const [failures, warnings] = [number("failure"), number("warning")];
  if (failures + warnings === 0) return "All is well.";
  return `${count(failures, "failure")}, ${count(warnings, "warning")}.`;
}

/** Names of settings, files and subjects stay as they are. */
const capitalized = (text: string): string =>
  /^[a-z]+ /.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
