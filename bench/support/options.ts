// The command-line options, which all benchmarks share.
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

export type Mode = "embedded" | "split";
export type Scheme = "http" | "https";
export type Processors = "one" | "all";

export interface Options {
  /** Uses tiny numbers: proves that a benchmark runs, and measures nothing. */
  readonly smoke: boolean;
  readonly rounds: number;
  readonly modes: readonly Mode[];
  /** Milliseconds that the target takes. */
  readonly delays: readonly number[];
  /** Milliseconds that the target takes for a TLS handshake. */
  readonly handshake: number;
  readonly schemes: readonly Scheme[];
  /** The processors that the measured process gets. */
  readonly processors: Processors;
  /** Calls per second. */
  readonly rates: readonly number[];
  /** Undefined: the benchmark's own default. */
  readonly deployments: number | undefined;
  /** Sizes of the results table. Undefined: the benchmark's own default. */
  readonly results: readonly number[] | undefined;
  /** The folder of the JSON files. */
  readonly out: string;
}

const OUT = fileURLToPath(new URL("../results", import.meta.url));

const KNOWN = {
  smoke: { type: "boolean", default: false },
  rounds: { type: "string", default: "3" },
  modes: { type: "string", default: "embedded,split" },
  delays: { type: "string", default: "0,5,50" },
  handshake: { type: "string", default: "0" },
  schemes: { type: "string", default: "http,https" },
  rates: { type: "string", default: "100,500" },
  processors: { type: "string", default: "one" },
  deployments: { type: "string" },
  results: { type: "string" },
  out: { type: "string", default: OUT },
} as const;

/** Parses the names of benchmarks and their options. Throws on an unknown option or value. */
export function parseOptions(args: readonly string[]) {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: KNOWN,
    allowPositionals: true,
  });
  const options: Options = {
    smoke: values.smoke,
    rounds: values.smoke ? 1 : numberOf("rounds", values.rounds),
    processors: oneOf("processors", ["one", "all"], values.processors),
    modes: someOf("modes", ["embedded", "split"], values.modes),
    delays: values.delays.split(",").map((text) => numberOf("delays", text)),
    handshake: numberOf("handshake", values.handshake),
    schemes: someOf("schemes", ["http", "https"], values.schemes),
    rates: values.rates.split(",").map((text) => numberOf("rates", text)),
    deployments:
      values.deployments === undefined ? undefined : numberOf("deployments", values.deployments),
    results: values.results?.split(",").map((text) => numberOf("results", text)),
    out: values.out,
  };
  return { names: positionals, options };
}

function numberOf(name: string, text: string): number {
  const value = Number(text.replaceAll("_", ""));
  if (Number.isFinite(value) && value >= 0 && text !== "") return value;
  throw new Error(`--${name}: "${text}" is not a number`);
}

const someOf = <T extends string>(name: string, known: readonly T[], text: string): T[] =>
  text.split(",").map((word) => oneOf(name, known, word));

function oneOf<T extends string>(name: string, known: readonly T[], word: string): T {
  const found = known.find((each) => each === word);
  if (found === undefined)
    throw new Error(`--${name}: "${word}" is not one of ${known.join(", ")}`);
  return found;
}
