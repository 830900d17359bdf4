// 24 hours as bars: how many calls passed, warned, failed and were missed in each. The worst
// decides the colour and the height of the bar.
import type { CallDay } from "../../../../src/model/call-overview.ts";
import { HOUR_MS } from "../../../../src/model/periods.ts";
import { sum } from "../../../../src/model/sum.ts";
import { formatCount } from "../../number.ts";
import { formatTime } from "../../parts/time.tsx";

type Lane = keyof CallDay["hours"];

const WORST = ["fail", "warning", "missed", "pass"] as const;
const WORDS: Readonly<Record<Lane, string>> = {
  pass: "passed",
  warning: "with a warning",
  fail: "failed",
  missed: "missed",
};
const HEIGHTS: Readonly<Record<Lane, number>> = { pass: 10, missed: 14, warning: 17, fail: 20 };
const [STEP, WIDTH, HEIGHT] = [6, 5, 20];

export function Strip({ time, hours }: CallDay) {
  const first = Date.parse(time);
  return (
    <svg
      class="strip"
      viewBox={`0 0 ${24 * STEP} ${HEIGHT}`}
      role="img"
      aria-label={`Last 24 hours: ${inWords(WORST.map((lane) => [lane, sum(hours[lane])]))}`}
    >
      {hours.pass.map((_, hour) => {
        const counts = WORST.map((lane) => [lane, hours[lane][hour] ?? 0] as const);
        const worst = counts.find(([, count]) => count > 0)?.[0];
        const height = worst ? HEIGHTS[worst] : 2;
        return (
          <rect
            key={hour}
            class={worst ?? "none"}
            x={hour * STEP}
            y={HEIGHT - height}
            width={WIDTH}
            height={height}
          >
            <title>{`${formatTime(first + hour * HOUR_MS).replace(":00 ", " ")}: ${inWords(counts)}`}</title>
          </rect>
        );
      })}
    </svg>
  );
}

const inWords = (counts: readonly (readonly [Lane, number])[]): string =>
  counts
    .filter(([, count]) => count > 0)
    .map(([lane, count]) => `${formatCount(count)} ${WORDS[lane]}`)
    .join(", ") || "no calls";
