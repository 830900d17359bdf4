// The colours and patterns of charts, read from the tokens: they follow the theme, and are the
// light ones while a page is printed.
import type { Phase } from "../../../../src/model/timing.ts";

export type Ink = ReturnType<typeof createInk>;

/** Reads them for what is drawn inside `box`. */
export function createInk(box: HTMLElement) {
  const probe = document.createElement("span");
  probe.hidden = true;
  box.append(probe);
  let known = new Map<string, string | CanvasPattern>();
  const isPrint = matchMedia("print");
  const isDark = matchMedia("(prefers-color-scheme: dark)");
  let isPrinting = isPrint.matches;

  /** `adjust`: whether the reader's forced colours replace it. */
  const read = (token: string, adjust: "auto" | "none"): string => {
    probe.style.forcedColorAdjust = adjust;
    probe.style.colorScheme = isPrinting ? "light" : "";
    probe.style.color = `var(${token})`;
    return getComputedStyle(probe).color;
  };

  /** Returns a token's colour as a canvas takes it, with light-dark() resolved. */
  const colour = (token: string): string => {
    const before = known.get(token);
    if (typeof before === "string") return before;
    const found = read(token, "auto");
    known.set(token, found);
    return found;
  };

  /** Like the legend's, it stays as it is where colours are forced: only it tells phases apart. */
  const pattern = (phase: Phase): string | CanvasPattern => {
    const before = known.get(`pattern ${phase}`);
    if (before !== undefined) return before;
    const made = drawPattern(phase, read(`--${phase}`, "none"), read("--hatch", "none"));
    known.set(`pattern ${phase}`, made);
    return made;
  };

  const onChange = (listener: () => void): (() => void) => {
    const changed = (printing: boolean) => (): void => {
      isPrinting = printing || isPrint.matches;
      known = new Map();
      listener();
    };
    const [again, before] = [changed(false), changed(true)];
    const themes = new MutationObserver(again);
    themes.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    for (const media of [isPrint, isDark]) media.addEventListener("change", again);
    addEventListener("beforeprint", before);
    addEventListener("afterprint", again);
    return () => {
      themes.disconnect();
      for (const media of [isPrint, isDark]) media.removeEventListener("change", again);
      removeEventListener("beforeprint", before);
      removeEventListener("afterprint", again);
    };
  };

  return { colour, pattern, onChange, font: `12px ${getComputedStyle(box).fontFamily}` };
}

const SIZE = 6;

/** The same patterns as in phases.css. */
const STROKES: Partial<Record<Phase, (path: CanvasRenderingContext2D) => void>> = {
  dns: (path) =>
    line(path, [-1, 1, 1, -1], [0, SIZE, SIZE, 0], [SIZE - 1, SIZE + 1, SIZE + 1, SIZE - 1]),
  handshake: (path) =>
    line(path, [-1, SIZE - 1, 1, SIZE + 1], [0, 0, SIZE, SIZE], [SIZE - 1, -1, SIZE + 1, 1]),
  upload: (path) => line(path, [SIZE / 2, 0, SIZE / 2, SIZE]),
  download: (path) => path.arc(SIZE / 2, SIZE / 2, 0.7, 0, 2 * Math.PI),
};

type Line = readonly [x0: number, y0: number, x1: number, y1: number];

function line(path: CanvasRenderingContext2D, ...lines: readonly Line[]): void {
  for (const [x0, y0, x1, y1] of lines) {
    path.moveTo(x0, y0);
    path.lineTo(x1, y1);
  }
}

function drawPattern(phase: Phase, ground: string, hatch: string): string | CanvasPattern {
  const canvas = document.createElement("canvas");
  canvas.width = SIZE;
  canvas.height = SIZE;
  const path = canvas.getContext("2d");
  const stroke = STROKES[phase];
  if (!path || !stroke) return ground;
  path.fillStyle = ground;
  path.fillRect(0, 0, SIZE, SIZE);
  path.strokeStyle = hatch;
  path.lineWidth = 1.5;
  path.beginPath();
  stroke(path);
  path.stroke();
  return path.createPattern(canvas, "repeat") ?? ground;
}
