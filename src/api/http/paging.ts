// Cursors of lists: opaque to their holder, and signed, so that none can be made up, edited or used
// elsewhere.
import { createHmac, timingSafeEqual } from "node:crypto";
import { invalid } from "../../model/errors.ts";
import { show } from "../../model/validate.ts";

/** Where a list goes on. */
export type Position = readonly (string | number | null)[];

export interface Cursors {
  /** `scope` is whatever makes the list what it is: route, filters, caller. */
  encode(scope: string, position: Position): string;
  /** Throws `invalid` for anything but a cursor of this scope. */
  decode(scope: string, cursor: string): Position;
}

export interface PageMeta {
  readonly more: boolean;
  /** "" on the last page. */
  readonly next_cursor: string;
}

const MAX_LENGTH = 1000;

export function createCursors(key: Uint8Array): Cursors {
  const sign = (scope: string, payload: string): Buffer =>
    createHmac("sha256", key).update(`${scope}\0${payload}`).digest().subarray(0, 16);
  return {
    encode(scope, position) {
      const payload = Buffer.from(JSON.stringify(position));
      return Buffer.concat([sign(scope, payload.toString()), payload]).toString("base64url");
    },
    decode(scope, cursor) {
      const bytes = Buffer.from(cursor.slice(0, MAX_LENGTH), "base64url");
      const [signature, payload] = [bytes.subarray(0, 16), bytes.subarray(16)];
      const genuine =
        bytes.toString("base64url") === cursor &&
        signature.length === 16 &&
        timingSafeEqual(signature, sign(scope, payload.toString()));
      if (!genuine) throw invalid(`cursor: ${show(cursor)} is not a cursor of this list`);
      return JSON.parse(payload.toString()) as Position;
    },
  };
}

export interface Paged<T> {
  readonly meta: PageMeta;
  readonly items: readonly T[];
}

/** Cuts what was fetched (one more than `limit`, where there is more) to a page. */
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
