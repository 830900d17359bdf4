// Limits concurrent exports, in total and per owner: no owner may keep others from theirs.
import { TooManyError } from "../model/errors.ts";
import { identityOf, ownedBy } from "../model/access.ts";
import type { Actor } from "../model/access.ts";

const IN_ALL = 8;
const OF_AN_OWNER = 2;
const RETRY_AFTER_SECONDS = 10;

export type ExportPlaces = ReturnType<typeof createExportPlaces>;

export function createExportPlaces() {
  const held: string[] = [];
  return {
    /** Returns a function that frees the place; call it once. Throws `too_many`. */
    take(actor: Actor): () => void {
      const owner = identityOf(ownedBy(actor));
      const own = held.filter((each) => each === owner).length;
      if (own >= OF_AN_OWNER) throw full(`${own} of your exports are running`);
      if (held.length >= IN_ALL) throw full(`${held.length} exports are running`);
      held.push(owner);
      return () => void held.splice(held.indexOf(owner), 1);
    },
  };
}

const full = (what: string): TooManyError =>
  new TooManyError(`${what}, the maximum at a time`, RETRY_AFTER_SECONDS);
