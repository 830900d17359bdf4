// Reads, sets and lists fields of the API's objects by their paths, such as `request.url`.
import { isObject } from "../model/json.ts";
import { harmless } from "./text.ts";
import type { Json } from "./api.ts";

/** Returns undefined if the object has no such field. */
export const fieldOf = (object: Json, path: string): unknown =>
  path
    .split(".")
    .reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), object);

/** Returns the field as text for a cell; null if it is missing, null or empty. */
export function textOf(object: Json, path: string): string | null {
  const value = fieldOf(object, path);
  if (value === undefined || value === null || value === "") return null;
  if (Array.isArray(value)) return value.length === 0 ? null : value.map(itemText).join(", ");
  return itemText(value);
}

const itemText = (item: unknown): string => {
  if (isObject(item) && "key" in item && "value" in item)
    return `${String(item["key"])}: ${String(item["value"])}`;
  return typeof item === "string" ? item : JSON.stringify(item);
};

/** Returns the object with the field set, creating objects along the path as needed. */
export function withField(object: Json, path: string, value: unknown): Json {
  const [name = "", ...rest] = path.split(".");
  if (rest.length === 0) return { ...object, [name]: value };
  const inner = object[name];
  return { ...object, [name]: withField(isObject(inner) ? inner : {}, rest.join("."), value) };
}

/** Lists every field that has a value, one per line: its path, then its value. */
export function describe(object: Json): string {
  const rows = leavesOf(object, "").map(
    ([path, text]) => [harmless(path), harmless(text)] as const,
  );
  const width = Math.max(0, ...rows.map(([path]) => path.length));
  return rows.map(([path, text]) => `${path.padEnd(width)}  ${text}\n`).join("");
}

function leavesOf(object: Json, prefix: string): [path: string, text: string][] {
  return Object.entries(object).flatMap(([name, value]): [string, string][] => {
    const path = `${prefix}${name}`;
    if (isObject(value)) return leavesOf(value, `${path}.`);
    if (Array.isArray(value)) return value.map((item) => [path, itemText(item)]);
    return value === null || value === "" ? [] : [[path, itemText(value)]];
  });
}
