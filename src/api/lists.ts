// Lists: the envelope that every one of them answers with.
import { Type } from "typebox";
import type { TSchema } from "typebox";
import type { Page } from "../store/ports/document-store.ts";
import type { ApiRequest } from "./http/endpoint.ts";
import type { Cursors, PageMeta } from "./http/paging.ts";
import type { LIST_PAGING } from "./http/parameters.ts";
import { toPage } from "./http/paging.ts";

export const PageMetaSchema = Type.Object({
  more: Type.Boolean({ description: "false on the last page" }),
  next_cursor: Type.String({ description: '"" on the last page' }),
});

export const listOf = (item: TSchema): TSchema =>
  Type.Object({ meta: PageMetaSchema, results: Type.Array(item) });

export interface List<T> {
  readonly meta: PageMeta;
  readonly results: readonly T[];
}

/** One page of a list that is ordered by id. `fetch` gives the rows of a page of the store. */
export async function listPage<T extends { readonly id: string }>(
  cursors: Cursors,
  { query, scope }: ApiRequest<string, typeof LIST_PAGING>,
  fetch: (page: Page) => Promise<readonly T[]>,
): Promise<List<T>> {
  const { cursor, limit } = query;
  const after = cursor === undefined ? "" : cursors.decode(scope, cursor)[0];
  const rows = await fetch({ after: String(after), limit: limit + 1 });
  const { meta, items } = toPage(rows, limit, (last) => cursors.encode(scope, [last.id]));
  return { meta, results: items };
}
