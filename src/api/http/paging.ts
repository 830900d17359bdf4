// Paged lists: the envelope of their answers, and their cursors. A cursor is opaque and signed: no
// one can forge or edit one, or use it on another list.
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Static, TSchema } from "typebox";
import { invalid } from "../../model/errors.ts";
import { Type } from "../../model/type.ts";
import { show } from "../../model/validate.ts";
import type { Page } from "../../store/records.ts";

/** Where the next page starts. */
export type Position = readonly (string | number | null)[];

export type Cursors = ReturnType<typeof createCursors>;

export const PageMetaSchema = Type.Object({
  more: Type.Boolean({ description: "false on the last page", examples: [false] }),
  next_cursor: Type.String({ description: '"" on the last page', examples: [""] }),
});

type PageMeta = Readonly<Static<typeof PageMetaSchema>>;

const MAX_LENGTH = 1000;

export function createCursors(key: Uint8Array) {
  const sign = (scope: string, payload: string): Buffer =>
    createHmac("sha256", key).update(`${scope}\0${payload}`).digest().subarray(0, 16);
  return {
    /** `scope` identifies the list: path, filters, caller. */
    encode(scope: string, position: Position): string {
      const payload = Buffer.from(JSON.stringify(position));
      return Buffer.concat([sign(scope, payload.toString()), payload]).toString("base64url");
    },
    /** Undefined without a cursor. Throws `invalid` for anything but one of this scope. */
    decode(scope: string, cursor: string | undefined): Position | undefined {
      if (cursor === undefined) return undefined;
      const bytes = Buffer.from(cursor.slice(0, MAX_LENGTH), "base64url");
      const [signature, payload] = [bytes.subarray(0, 16), bytes.subarray(16)];
      const genuine =
        bytes.toString("base64url") === cursor &&
        signature.length === 16 &&
        timingSafeEqual(signature, sign(scope, payload.toString()));
      if (!genuine)
        throw invalid(
          `cursor: ${show(cursor)} is not a cursor of this list with these filters and this order`,
        );
      return JSON.parse(payload.toString()) as Position;
    },
  };
}

interface Paged<T> {
  readonly meta: PageMeta;
  readonly items: readonly T[];
}

/** Cuts `fetched`, which holds one item beyond `limit` if there are more, to a page. */
export function toPage<T>(
  fetched: readonly T[],
  limit: number,
  cursorAfter: (last: T) => string,
): Paged<T> {
  const items = fetched.slice(0, limit);
  const last = items.at(-1);
  const more = fetched.length > limit && last !== undefined;
  return {
    meta: { more, next_cursor: more ? cursorAfter(last) : "" },
    items,
  };
}

/** Returns the schema of a list, named after the schema of its items, which must have a name. */
export const listOf = (item: TSchema & { readonly $id?: string }): TSchema =>
  Type.Object({ meta: PageMetaSchema, results: Type.Array(item) }, { $id: `${item.$id}List` });

export interface List<T> {
  readonly meta: PageMeta;
  readonly results: readonly T[];
}

/** The parts of a request that a list reads. */
export interface ListRequest {
  readonly query: { readonly cursor: string | undefined; readonly limit: number };
  readonly scope: () => string;
}

/** Of the objects on a page: a list must not fill the memory, or hold up other requests. */
export const MAX_PAGE_BYTES = 4 * 1024 * 1024;

/** Rows of an unknown size that are read at once. */
const PIECE = 50;

/**
 * Resolves to a page of a list ordered by id, which ends early where its rows are large. `fetch`
 * reads rows from the store; with `fitting`, at most as many as that returns.
 */
export async function listPage<T extends { readonly id: string }>(
  cursors: Cursors,
  { query, scope }: ListRequest,
  fetch: (page: Page) => Promise<readonly T[]>,
  fitting?: (page: Page) => Promise<number>,
): Promise<List<T>> {
  let after = String(cursors.decode(scope(), query.cursor)?.[0] ?? "");
  const limit = fitting ? await fitting({ after, limit: query.limit }) : query.limit;
  const piece = fitting ? limit : PIECE;
  const results: T[] = [];
  for (let bytes = 0; ;) {
    const wanted = Math.min(piece, limit - results.length);
    const rows = await fetch({ after, limit: wanted + 1 });
    const { meta, items } = toPage(rows, wanted, (last) => cursors.encode(scope(), [last.id]));
    results.push(...items);
    if (!meta.more || results.length === limit) return { meta, results };
    bytes += JSON.stringify(items).length;
    if (bytes > MAX_PAGE_BYTES) return { meta, results };
    after = items.at(-1)?.id as string;
  }
}
