// Draws the durations of a call's phases as bars, one below another.
import type { Result } from "../model/result.ts";
import { PHASES } from "../model/timing.ts";
import type { Phase, Timing } from "../model/timing.ts";
import type { Screen } from "./table.ts";
import { cut, harmless } from "./text.ts";

const LABELS: Readonly<Record<Phase, string>> = {
  dns: "DNS",
  tcp: "TCP",
  handshake: "TLS",
  upload: "upload",
  processing: "processing",
  download: "download",
};
const LABEL_WIDTH = 11;
const MS_WIDTH = 12;
const BAR_WIDTH = { least: 16, usual: 40, most: 60 };

/**
 * Draws the phases of each redirect, then of the last request. Each bar is as long as its share of
 * the time, and starts where the previous one ends. Phases that were not reached have none.
 */
export function waterfallOf(
  { hops, timing, meta, request }: WaterfallResult,
  screen: Screen,
): string {
  const requests = [
    ...hops.map(({ url, http_code, timing: own }) => ({
      title: `${http_code ?? "-"} ${harmless(url)}`,
      timing: own,
    })),
    { title: `${meta.http_code ?? "-"} ${harmless(request?.url ?? "")}`, timing },
  ];
  const total = requests.reduce((sum, { timing: own }) => sum + sumOf(own), 0);
  const width = barWidth(screen);
  let before = 0;
  const lines = requests.flatMap(({ title, timing: own }) => {
    const bars = PHASES.map((phase) => {
      const ms = own[phase];
      const line = barOf(LABELS[phase], ms, { before, total, width });
      before += ms ?? 0;
      return line;
    });
    return hops.length === 0 ? bars : [title, ...bars];
  });
  const fit = (line: string): string =>
    (screen.width === undefined ? line : cut(line, screen.width)).trimEnd();
  return [...lines, totalOf(timing)].map((line) => `${fit(line)}\n`).join("");
}

export type WaterfallResult = Pick<Result, "hops" | "timing"> & {
  readonly meta: Pick<Result["meta"], "http_code">;
  /** The last request. Absent in lists. */
  readonly request?: { readonly url: string } | null;
};

const sumOf = (timing: Timing): number =>
  PHASES.reduce((sum, phase) => sum + (timing[phase] ?? 0), 0);

const barWidth = ({ width }: Screen): number =>
  width === undefined
    ? BAR_WIDTH.usual
    : Math.min(BAR_WIDTH.most, Math.max(BAR_WIDTH.least, width - LABEL_WIDTH - MS_WIDTH - 6));

interface Scale {
  /** Milliseconds that earlier phases took. */
  readonly before: number;
  readonly total: number;
  /** The width of the whole chart, in columns. */
  readonly width: number;
}

function barOf(label: string, ms: number | null, { before, total, width }: Scale): string {
  const name = `  ${label.padEnd(LABEL_WIDTH)}`;
  if (ms === null) return `${name}${"-".padStart(MS_WIDTH)}`;
  const at = (time: number): number => (total === 0 ? 0 : Math.round((width * time) / total));
  const start = Math.min(at(before), width - 1);
  const length = Math.max(1, at(before + ms) - start);
  return `${name}${milliseconds(ms).padStart(MS_WIDTH)}  ${" ".repeat(start)}${"█".repeat(length)}`;
}

/**
 * The total exceeds the sum of its phases by the agent's work between them, at most `uncertainty`.
 */
function totalOf({ total, uncertainty }: Timing): string {
  const name = `  ${"total".padEnd(LABEL_WIDTH)}`;
  if (total === null) return `${name}${"-".padStart(MS_WIDTH)}`;
  const doubt =
    uncertainty === null ? "" : `  up to ${milliseconds(uncertainty)} of it may be the agent's own`;
  return `${name}${milliseconds(total).padStart(MS_WIDTH)}${doubt}`;
}

/** Formats with one decimal, or three below 10 ms. */
export const milliseconds = (ms: number): string => `${ms.toFixed(ms < 10 ? 3 : 1)} ms`;
