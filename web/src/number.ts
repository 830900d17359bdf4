// Numbers with their units.
import { percentText } from "../../src/model/percent.ts";

/** Milliseconds: `0.42 ms`, `12.3 ms`, `1.24 s`, whole ones `6 ms`; an en dash for none. */
export function formatMs(ms: number | null | undefined): string {
  if (ms == null) return "–";
  if (ms < 0) return `−${formatMs(-ms)}`;
  if (ms >= 10_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms >= 1000) return `${(ms / 1000).toFixed(2)} s`;
  if (ms >= 100 || Number.isInteger(ms)) return `${ms.toFixed(0)} ms`;
  return `${ms.toFixed(ms >= 10 ? 1 : 2)} ms`;
}

/** Two decimals, rounded down; exactly 0 and 100 have none. */
export function formatPercent(percent: number | null | undefined): string {
  if (percent == null) return "–";
  const text = percentText(percent);
  if (text === "100.00") return "100 %";
  return Number(percent.toFixed(8)) === 0 ? "0 %" : `${text} %`;
}

/** `p95: 95 of 100 calls took this long or less.`, `p50: half of the calls took …`. */
export const percentileText = (name: string): string =>
  `${name}: ${name === "p50" ? "half of the" : `${name.slice(1)} of 100`} calls took this long or less.`;

export const formatCount = (count: number | null | undefined): string =>
  count == null ? "–" : count.toLocaleString("en");

export function formatBytes(bytes: number | null | undefined): string {
  if (bytes == null) return "–";
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 ** 2) return `${(bytes / 1024).toFixed(1)} KiB`;
  return `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}
