// The alert rules of deploy/prometheus/, and their tests, as YAML says them.
import { globSync, readFileSync } from "node:fs";
import { parse } from "yaml";
import { RULE_FILES } from "../support/prometheus.ts";

export const FOLDER = "deploy/prometheus";
export const RULES = RULE_FILES.map((file) => `${FOLDER}/${file}`);
export const RULE_TESTS = globSync(`${FOLDER}/tests/*.yml`);

export interface WrittenRule {
  /** One of the two. */
  readonly alert?: string;
  readonly record?: string;
  readonly expr: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface AlertRule extends WrittenRule {
  readonly alert: string;
  readonly labels: Readonly<Record<string, string>>;
}

interface RuleFile {
  readonly groups: readonly { readonly rules: readonly WrittenRule[] }[];
}

interface RuleTestFile {
  readonly tests: readonly { readonly alert_rule_test: readonly RuleTest[] }[];
}

export interface RuleTest {
  readonly alertname: string;
  readonly exp_alerts?: readonly { readonly exp_labels: Readonly<Record<string, string>> }[];
}

const read = <File>(path: string): File => parse(readFileSync(path, "utf8")) as File;

/** In the order of their files' names. */
export const ruleGroups = RULES.toSorted().flatMap((path) => read<RuleFile>(path).groups);

export const rules: readonly WrittenRule[] = ruleGroups.flatMap((group) => group.rules);

export const alertRules = rules.filter((rule): rule is AlertRule => rule.alert !== undefined);

export const alertNames = [...new Set(alertRules.map(({ alert }) => alert))];

export const ruleTests: readonly RuleTest[] = RULE_TESTS.flatMap((path) =>
  read<RuleTestFile>(path).tests.flatMap((test) => test.alert_rule_test),
);
