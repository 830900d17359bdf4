// Defines the client's view of a kind of resource, and the options that several kinds share.
import { invalid } from "../model/errors.ts";
import { show } from "../model/validate.ts";
import type { Json } from "./api.ts";
import { column } from "./columns.ts";
import { fieldOf } from "./fields.ts";
import type { Column } from "./table.ts";

export type KindName = "calls" | "workflows" | "deployments" | "auth" | "tokens" | "reports";

/** An option of `list`. It has one of `path`, `query` and `keeps`. */
export interface ListFilter {
  readonly flags: string;
  readonly description: string;
  /** The value may be a name of an object of this kind. */
  readonly names?: KindName;
  /** Returns the path of the list to read instead. */
  readonly path?: (value: string) => string;
  /** The query parameter of the API. */
  readonly query?: string;
  /** Filters here what the API cannot filter. */
  readonly keeps?: (object: Json, value: string) => boolean;
}

/** An option of `create` and `update`. */
export interface BodyField {
  readonly flags: string;
  readonly description: string;
  /** The field's path in the body. */
  readonly path: string;
  /** The option may be given several times; the field is an array. */
  readonly repeats?: true;
  /** The value may be a name of an object of one of these kinds. */
  readonly names?: readonly KindName[];
  /** An empty value clears the field. */
  readonly clears?: true;
  readonly read?: (text: string) => unknown;
  /** Sent by `create` if neither an option nor the file gives the field. */
  readonly otherwise?: string;
}

export interface ResourceKind {
  readonly name: KindName;
  readonly path: string;
  /** The singular, as in a sentence: `call`. */
  readonly one: string;
  readonly description: string;
  readonly columns: readonly Column<Json>[];
  /** Each object has a name, which can stand for its id. */
  readonly isNamed: boolean;
  readonly filters: readonly ListFilter[];
  readonly fields: readonly BodyField[];
  /** The path of a field that the API requires in every change. */
  readonly always?: string;
  /** Example arguments of `create`. */
  readonly example: string;
}

export const ID = column("ID", "id");
export const NAME = column("NAME", "meta.name", { shrinks: true });
export const TAGS = column("TAGS", "meta.tags", { shrinks: "first" });

export const BY_TAG: ListFilter = {
  flags: "--tag <tag>",
  description: "only those with this tag",
  keeps: (object, tag) => (fieldOf(object, "meta.tags") as readonly string[]).includes(tag),
};
export const NAME_FIELD: BodyField = {
  flags: "--name <text>",
  description: "its name",
  path: "meta.name",
};
export const MORE_META: readonly BodyField[] = [
  { flags: "--description <text>", description: "what it is for", path: "meta.description" },
  { flags: "--tag <tag>", description: "a tag; may be repeated", path: "meta.tags", repeats: true },
];

/** The help on the option of a field, for `create` or `update`. */
export function helpOn({ description, repeats, otherwise }: BodyField, isChange: boolean): string {
  if (isChange) return repeats ? `${description}; replaces the old list` : description;
  return otherwise === undefined ? description : `${description} (default: ${otherwise})`;
}

/** Parses `NAME: VALUE` or `NAME=VALUE`, where spaces belong to the value. */
export const pairBy =
  (option: string, separator: ":" | "=") =>
  (text: string): Json => {
    const at = text.indexOf(separator);
    const value = text.slice(at + 1);
    if (at > 0)
      return { key: text.slice(0, at).trim(), value: separator === ":" ? value.trim() : value };
    throw invalid(
      `${option}: ${show(text)} is not NAME${separator}${separator === ":" ? " " : ""}VALUE`,
    );
  };
export const truth =
  (option: string) =>
  (text: string): boolean => {
    if (text === "true" || text === "false") return text === "true";
    throw invalid(`${option}: ${show(text)} is not true or false`);
  };
/** Passes anything else on as text: the API reports the fault. */
export const numberIfOne = (text: string): unknown =>
  /^\d{1,9}$/.test(text) ? Number(text) : text;
