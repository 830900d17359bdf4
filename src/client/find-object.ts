// Finds objects by an id or a unique name.
import { invalid } from "../model/errors.ts";
import { show } from "../model/validate.ts";
import { ApiError } from "./api.ts";
import type { Api, Json } from "./api.ts";
import { fieldOf } from "./fields.ts";
import type { KindName } from "./resource-kind.ts";
import { KINDS } from "./resource-kinds.ts";
import { harmless } from "./text.ts";

const NOT_FOUND = 404;
const SHOWN = 3;

export interface Found {
  readonly kind: KindName;
  readonly id: string;
  readonly object: Json;
}

/**
 * Returns the one object of these kinds with this id, or else with this name, exactly or ignoring
 * case. Rejects with one line that suggests close matches.
 */
export async function findObject(
  api: Api,
  kinds: readonly KindName[],
  given: string,
): Promise<Found> {
  for (const kind of kinds) {
    const object = await getOrNothing(api, kind, given);
    if (object) return { kind, id: given, object };
  }
  const named: Found[] = [];
  for (const kind of kinds.filter((each) => KINDS[each].isNamed))
    for await (const object of api.list(KINDS[kind].path, {}, { limit: 1000 }))
      named.push({ kind, id: String(object["id"]), object });
  const wanted = given.toLowerCase();
  const exact = named.filter((each) => nameOf(each) === given);
  const found = exact.length > 0 ? exact : named.filter((each) => lower(each) === wanted);
  const [only, ...others] = found;
  if (only && others.length === 0) return only;
  const noun = kinds.map((kind) => KINDS[kind].one).join(" or ");
  if (only) throw invalid(`${show(given)} matches several: ${listed(found)}; give an id`);
  const close = named.filter((each) => lower(each).includes(wanted));
  const hint =
    close.length > 0
      ? `did you mean ${listed(close)}?`
      : kinds.map((kind) => `\`sonde ${kind} list\``).join(" and ") +
        (kinds.length === 1 ? " shows them" : " show them");
  throw invalid(`no ${noun} has the id or name ${harmless(show(given))}: ${hint}`);
}

async function getOrNothing(api: Api, kind: KindName, id: string): Promise<Json | undefined> {
  // Anything else is not an id, and could form another path.
  if (!/^[\w-]+$/.test(id)) return undefined;
  try {
    const object = await api.get(`${KINDS[kind].path}${encodeURIComponent(id)}/`);
    return object["id"] === id ? object : undefined; // `/calls/overview/` is no call
  } catch (cause) {
    if (cause instanceof ApiError && cause.status === NOT_FOUND) return undefined;
    throw cause;
  }
}

const nameOf = ({ object }: Found): string => String(fieldOf(object, "meta.name"));
const lower = (found: Found): string => nameOf(found).toLowerCase();

const listed = (found: readonly Found[]): string =>
  found
    .slice(0, SHOWN)
    .map((each) => `${harmless(show(nameOf(each)))} (${KINDS[each.kind].one} ${each.id})`)
    .join(", ") + (found.length > SHOWN ? ` and ${found.length - SHOWN} more` : "");
