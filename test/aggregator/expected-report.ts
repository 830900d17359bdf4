// Computes what a report must say from the list of results, by the definitions of docs/insights.md
// alone: no counts, and no code of the product.

export interface Made {
  readonly location: string;
  readonly passed: boolean;
  /** In milliseconds, as is the uncertainty. */
  readonly total: number;
  readonly uncertainty: number;
}

export function expectedReport(results: readonly Made[]) {
  const passed = results.filter((each) => each.passed);
  const all = passed.map(latencyOf);
  const spreads = [...Map.groupBy(passed, ({ location }) => location).values()].map(spreadOf);
  const outliers = sum(spreads.map((spread) => spread.outliers));
  const weight = sum(spreads.map(({ usual }) => usual.length));
  const variation =
    weight === 0 ? 0 : sum(spreads.map((each) => each.variation * each.usual.length)) / weight;
  const p = results.length === 0 ? 0 : passed.length / results.length;
  const o = passed.length === 0 ? 0 : outliers / passed.length;
  const score = Math.round((999 * p ** 9 * (1 - o) ** 2) / (1 + variation ** 2 / 4));
  return {
    made: results.length,
    passed: passed.length,
    outliers,
    score: results.length < 24 || passed.length === 0 ? 0 : score,
    pass_percent: p * 100,
    outlier_percent: o * 100,
    mean_test_length: passed.length === 0 ? 0 : meanOf(all),
    sd_test_length: passed.length === 0 ? 0 : deviationOf(all),
  };
}

function spreadOf(passed: readonly Made[]) {
  const ordered = passed.map(latencyOf).toSorted((a, b) => a - b);
  const [q1, median, q3] = [0.25, 0.5, 0.75].map((share) => quantile(ordered, share)) as [
    number,
    number,
    number,
  ];
  const isOutlier = (each: Made): boolean => {
    const latency = latencyOf(each);
    const isUncertain = each.uncertainty > 10 && each.uncertainty > each.total * 0.1;
    return !isUncertain && latency > q3 + 3 * (q3 - q1) && latency - median >= 10;
  };
  const usual = passed.filter((each) => !isOutlier(each)).map(latencyOf);
  const mean = meanOf(usual);
  return {
    outliers: passed.length - usual.length,
    usual,
    variation: mean === 0 ? 0 : deviationOf(usual) / mean,
  };
}

const latencyOf = ({ total }: Made): number => Math.round(total);

/** Type 7 by Hyndman and Fan. */
function quantile(ordered: readonly number[], share: number): number {
  const place = (ordered.length - 1) * share;
  const [low, high] = [Math.floor(place), Math.ceil(place)].map((at) => ordered[at] as number) as [
    number,
    number,
  ];
  return low + (place % 1) * (high - low);
}

const meanOf = (numbers: readonly number[]): number => sum(numbers) / numbers.length;

const deviationOf = (numbers: readonly number[]): number => {
  const mean = meanOf(numbers);
  return Math.sqrt(meanOf(numbers.map((number) => (number - mean) ** 2)));
};

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
