// Reads the alert rules of deploy/prometheus/, and their tests, from YAML.
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { parse, stringify } from "yaml";
import { RULE_FILES } from "./prometheus.ts";

const FOLDER = "deploy/prometheus";
export const RULES = RULE_FILES.map((file) => `${FOLDER}/${file}`);
export const RULE_TESTS = globSync(`${FOLDER}/tests/*.yml`);

export interface WrittenRule {
  /** Either this or `record`. */
  readonly alert?: string;
  readonly record?: string;
  readonly expr: string;
  readonly for?: string;
  readonly keep_firing_for?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface AlertRule extends WrittenRule {
  readonly alert: string;
  readonly labels: Readonly<Record<string, string>>;
}

interface RuleFile {
  readonly groups: readonly {
    readonly interval?: string;
    readonly rules: readonly WrittenRule[];
  }[];
}

interface RuleTestFile {
  readonly tests: readonly { readonly alert_rule_test: readonly RuleTest[] }[];
}

export interface RuleTest {
  readonly alertname: string;
  readonly exp_alerts?: readonly { readonly exp_labels: Readonly<Record<string, string>> }[];
}

const read = (path: string): unknown => parse(readFileSync(path, "utf8"));
const readRules = (path: string): RuleFile => read(path) as RuleFile;

/** In the order of their file names. */
export const ruleGroups = RULES.toSorted().flatMap((path) => readRules(path).groups);

export const rules: readonly WrittenRule[] = ruleGroups.flatMap((group) => group.rules);

export const alertRules = rules.filter((rule): rule is AlertRule => rule.alert !== undefined);

export const alertNames = [...new Set(alertRules.map(({ alert }) => alert))];

export const ruleTests: readonly RuleTest[] = RULE_TESTS.flatMap((path) =>
  (read(path) as RuleTestFile).tests.flatMap((test) => test.alert_rule_test),
);

/** Returns the series that an expression reads, each as a selector: `up{job="sonde"}`. */
export const selectorsOf = (expression: string): string[] =>
  [
    ...expression.matchAll(
      /\b(?:up|process_\w+|sonde_\w+|probe_\w+|(?:sonde|location|reason):[\w:]+)\b(?:\{[^}]*\})?/g,
    ),
  ].map(([selector]) => selector);

const UNITS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;
const DURATION = /(\d+)([smhdw])/;

const shorter = (duration: string, times: number): string =>
  duration.replace(DURATION, (_, count: string, unit: keyof typeof UNITS) => {
    const ms = (Number(count) * UNITS[unit]) / times;
    return `${Math.round(ms)}ms`;
  });

export interface QuickRules extends Disposable {
  readonly files: readonly string[];
}

/**
 * Copies the rules so that time runs faster: each `for`, `keep_firing_for`, interval, window, offset
 * and age of a process is divided by `times`. The expressions and their thresholds stay as shipped.
 */
export function quickRules(times: number): QuickRules {
  const folder = mkdtempSync(join(tmpdir(), "sonde-rules-"));
  const files = RULES.map((path) => {
    const groups = readRules(path).groups.map((group) => ({
      ...group,
      ...(group.interval && { interval: shorter(group.interval, times) }),
      rules: group.rules.map((rule) => quickRule(rule, times)),
    }));
    const file = join(folder, basename(path));
    writeFileSync(file, stringify({ groups }));
    return file;
  });
  return { files, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
}

const quickRule = (rule: WrittenRule, times: number): WrittenRule => ({
  ...rule,
  ...(rule.for && { for: shorter(rule.for, times) }),
  ...(rule.keep_firing_for && { keep_firing_for: shorter(rule.keep_firing_for, times) }),
  expr: rule.expr
    .replaceAll(/\[\d+[smhdw]\]/g, (window) => shorter(window, times))
    .replaceAll(/\boffset \d+[smhdw]/g, (offset) => shorter(offset, times))
    .replaceAll(/\bprocess_start_time_seconds < .*/g, (age) => `${age} / ${times}`),
});
