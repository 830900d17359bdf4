// Numbers with their units.

/** Milliseconds: `0.42 ms`, `12.3 ms`, `1.24 s`, whole ones `6 ms`; an en dash for none. */
export function formatMs(ms: number | null | undefined): string {
  if (ms == null) return "–";
  if (ms >= 10_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms >= 1000) return `${(ms / 1000).toFixed(2)} s`;
  if (ms >= 100 || Number.isInteger(ms)) return `${ms.toFixed(0)} ms`;
  return `${ms.toFixed(ms >= 10 ? 1 : 2)} ms`;
}

/** Two decimals, to compare a column. Rounds down: a failure never shows as 100. */
export function formatPercent(percent: number | null | undefined): string {
  if (percent == null) return "–";
  // Removes the error of binary numbers before it is rounded down: 64.1 * 100 is 6409.999999999999.
  const hundredths = Number((percent * 100).toFixed(6));
  if (hundredths === 10_000 || hundredths === 0) return `${hundredths / 100} %`;
  return `${(Math.floor(hundredths) / 100).toFixed(2)} %`;
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
