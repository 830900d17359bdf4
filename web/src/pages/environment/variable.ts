// An environment variable as answers show it.
import type { Variable } from "../../../../src/model/environment.ts";

/** To a key that only reads, the value is null. */
export type ShownVariable = Omit<Variable, "workspace_variable"> & {
  readonly workspace_variable: { readonly name: string; readonly value: string | null };
  readonly unreadable?: true;
};

export const pathOf = (workspace: string, name: string): string =>
  `environment/${encodeURIComponent(workspace)}/${encodeURIComponent(name)}`;
