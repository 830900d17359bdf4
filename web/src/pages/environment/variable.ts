// An environment variable as the API shows it.
import type { Variable } from "../../../../src/model/environment.ts";

/** The value is null for a key that only reads. */
export type ShownVariable = Omit<Variable, "workspace_variable"> & {
  readonly workspace_variable: { readonly name: string; readonly value: string | null };
  readonly unreadable?: true;
};

export const variablePath = (workspace: string, name: string): string =>
  `environment/${encodeURIComponent(workspace)}/${encodeURIComponent(name)}`;
