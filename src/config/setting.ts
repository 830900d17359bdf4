// Defines settings, with builders for the common kinds.
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

/** A limit per owner. */
export const budget = (env: string, fallback: string, meaning: string): Setting<number> => ({
  env,
  default: fallback,
  meaning,
  allowed: "a whole number from 1 to 999999999",
  parse: integer(1, 999_999_999),
});

/** Days to keep something. */
export const retention = (env: string, fallback: string, what: string): Setting<number> => ({
  env,
  default: fallback,
  meaning: `Days to keep ${what}; see [Retention](#retention)`,
  allowed: "a whole number of days from 1 to 36500",
  parse: integer(1, 36_500),
});

/** The maximum size of a stream in NATS, in MiB. */
export const streamLimit = (env: string, fallback: string, what: string): Setting<number> => ({
  env,
  default: fallback,
  meaning: `Maximum size of ${what}, in MiB, in NATS; see [NATS](#nats)`,
  allowed: "a whole number from 1 to 1048576",
  parse: integer(1, 1_048_576),
});
