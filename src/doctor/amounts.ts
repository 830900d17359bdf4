// Durations, sizes and shares in words.

/** `850 ms`, `42 s`, `14 min`, `3 h`, `2 days`. */
export function lengthOf(ms: number): string {
  const units = [
    [86_400_000, "days", 2],
    [3_600_000, "h", 1],
    [60_000, "min", 2],
    [1000, "s", 1],
  ] as const;
  const [size, name] = units.find(([unit, , from]) => ms >= from * unit) ?? [1, "ms"];
  const value = ms / size;
  const digits = name === "s" && value < 10 ? 1 : 0;
  return `${withoutZero(value.toFixed(digits))} ${name}`;
}

const withoutZero = (number: string): string => number.replace(/\.0$/, "");

/** `512 KiB`, `1.5 GiB`. */
export function sizeOf(bytes: number): string {
  const names = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  const at = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), names.length - 1);
  const value = bytes / 1024 ** at;
  return `${withoutZero(value.toFixed(at > 1 && value < 10 ? 1 : 0))} ${names[at]}`;
}

export const percent = (share: number): string =>
  `${share > 0 && share < 0.1 ? (100 * share).toFixed(1) : Math.round(100 * share)} %`;
