// The headers of an answer, as the API sends them and as the OpenAPI document names them.
import type { Answer } from "./api.ts";

/** Sent with every answer, so the document does not name them. */
const WITH_ALL: readonly string[] = [
  "cache-control",
  "connection",
  "content-length",
  "content-type",
  "date",
  "transfer-encoding",
  "x-content-type-options",
];

export const ownHeaders = ({ headers }: Answer<unknown>): string[] =>
  Object.keys(headers)
    .filter((name) => !WITH_ALL.includes(name))
    .toSorted();

export type Responses = Readonly<Record<string, { readonly headers?: object }>>;

export const documentedHeaders = (responses: Responses, status: number): string[] =>
  Object.keys(responses[status]?.headers ?? {})
    .map((name) => name.toLowerCase())
    .toSorted();
