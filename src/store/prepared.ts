// Prepares queries of the hot paths: built and compiled once per database, then executed with new
// values.
import type { Compilable, CompiledQuery, Kysely, QueryResult } from "kysely";
import type { Schema } from "./schema.ts";

/** Stands for a value in the query; it fits any column. */
type Placeholder = never;

/** `build` gets a placeholder for each name, and must pass it to the query unchanged. */
export function prepared<Name extends string, Row>(
  names: readonly Name[],
  build: (kysely: Kysely<Schema>, values: Readonly<Record<Name, Placeholder>>) => Compilable<Row>,
): (kysely: Kysely<Schema>, values: Readonly<Record<Name, unknown>>) => Promise<QueryResult<Row>> {
  const placeholders = new Map<unknown, Name>(names.map((name) => [{ name }, name]));
  const values = Object.fromEntries(
    [...placeholders].map(([placeholder, name]) => [name, placeholder]),
  ) as Record<Name, Placeholder>;
  // All transactions of a database share its adapter.
  const compiled = new WeakMap<object, CompiledQuery<Row>>();
  const compile = (kysely: Kysely<Schema>): CompiledQuery<Row> => {
    const query = build(kysely, values).compile();
    compiled.set(kysely.getExecutor().adapter, query);
    return query;
  };
  return (kysely, given) => {
    const query = compiled.get(kysely.getExecutor().adapter) ?? compile(kysely);
    const parameters = query.parameters.map((parameter) => {
      const name = placeholders.get(parameter);
      return name === undefined ? parameter : given[name];
    });
    return kysely.executeQuery({ ...query, parameters });
  };
}
