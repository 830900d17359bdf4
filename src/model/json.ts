// JSON objects.

export type Json = Record<string, unknown>;

/** Whether it is an object, rather than an array or null. */
export const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);
