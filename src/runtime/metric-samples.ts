// Reads samples from the text of /metrics.

/** Reads the Prometheus text format as our own processes write it. */
export function readSamples(text: string) {
  const samples = text.split("\n").flatMap((line) => {
    const [, name = "", value = ""] = SAMPLE.exec(line) ?? [];
    return name === "" ? [] : [{ name, value: Number(value) }];
  });
  return {
    /** Sums the samples of a metric; undefined if there are none. */
    sum(name: string): number | undefined {
      const found = samples.filter((each) => each.name === name);
      return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
    },
  };
}

const SAMPLE = /^([a-z_]\w*)(?:\{.*\})? ([^ ]+)/i;
