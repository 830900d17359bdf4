// Defines settings, with a builder for numbers.
import { integer } from "./setting-values.ts";

export interface Setting<T> {
  readonly env: string;
  /** The option of commands that takes precedence. */
  readonly option?: string;
  /** As an operator would write it; null: no default. */
  readonly default: string | null;
  /** The default in words, where `default` alone is unclear. */
  readonly defaultMeaning?: string;
  /** The value is never shown, and may come from the file named by `<env>_FILE`. */
  readonly secret?: true;
  /** The value may come from that file without being a secret. */
  readonly hasFile?: true;
  /** What it is for, as docs/configuration.md says it: a test compares them. */
  readonly meaning: string;
  /** Completes the sentence "… is not". */
  readonly allowed: string;
  /** Undefined when the text is not allowed. */
  readonly parse: (text: string) => T | undefined;
}

export const setting = <T>(definition: Setting<T> & { default: string }): Setting<T> => definition;
export const optional = <T>(
  definition: Omit<Setting<T>, "default"> & { defaultMeaning: string },
): Setting<T | undefined> => ({ ...definition, default: null });

interface WholeNumber extends Omit<Setting<number>, "allowed" | "parse"> {
  readonly default: string;
  readonly range: readonly [least: number, most: number];
  readonly unit?: string;
}

export const wholeNumber = ({ range, unit, ...definition }: WholeNumber): Setting<number> => ({
  ...definition,
  allowed: `a whole number${unit === undefined ? "" : ` of ${unit}`} from ${range.join(" to ")}`,
  parse: integer(...range),
});
