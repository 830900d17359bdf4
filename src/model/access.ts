// Access levels of keys, and the rights that sharing gives to others.
import type { Sharing } from "./resource.ts";

export const ACCESS_LEVELS = ["VIEWER", "EDITOR", "OWNER"] as const;
export type AccessLevel = (typeof ACCESS_LEVELS)[number];

/**
 * Who acts, identified by both fields: the same name in another organization, or in none, is
 * someone else.
 */
export interface Actor {
  readonly owner: string;
  readonly org: string | null;
}

/** A key, and the identity it acts as. */
export interface Principal extends Actor {
  readonly key_id: string;
  readonly access_level: AccessLevel;
}

/** Who owns something. */
export interface Ownership {
  readonly owner: string;
  readonly owner_org: string | null;
}

/** An owned object, as access rules see it. */
export interface Owned extends Ownership, Sharing {}

/** The actor on whose behalf a run of the object uses credentials. */
export const ownerOf = ({ owner, owner_org }: Ownership): Actor => ({ owner, org: owner_org });

export const ownedBy = ({ owner, org }: Actor): Ownership => ({ owner, owner_org: org });

/** The reason that messages give where an owner has no key. */
export const hasNoKey = (who: string, { owner_org }: Ownership): string =>
  `${who} has no active API key${owner_org === null ? "" : ` in organization '${owner_org}'`}`;

/** Returns a map key that is unique to an identity. */
export const identityOf = ({ owner, owner_org }: Ownership): string =>
  JSON.stringify([owner_org, owner]);

export const hasLevel = (principal: Principal, needed: AccessLevel): boolean =>
  ACCESS_LEVELS.indexOf(principal.access_level) >= ACCESS_LEVELS.indexOf(needed);

/** Read-only keys are often passed on, so they see no secrets, not even their owner's. */
export const readsSecrets = (principal: Principal): boolean => hasLevel(principal, "EDITOR");

export const isOwner = (principal: Actor, thing: Ownership): boolean =>
  principal.owner === thing.owner && principal.org === thing.owner_org;

export const isColleague = (principal: Actor, thing: Ownership): boolean =>
  principal.org !== null && principal.org === thing.owner_org;

/** What someone who may read a thing is to it; a `member` of the organization it is shared with. */
export type Role = "owner" | "member" | "reader";

export const canRead = (principal: Actor, thing: Owned): boolean =>
  thing.community || isOwner(principal, thing) || (thing.org && isColleague(principal, thing));

export const canWrite = isOwner;

/** Running spends the owner's credentials: never open to the community. */
export const canRun = (principal: Actor, thing: Owned): boolean =>
  roleOf(principal, thing) !== "reader";

export function roleOf(principal: Actor, thing: Owned): Role {
  if (isOwner(principal, thing)) return "owner";
  return thing.org && isColleague(principal, thing) ? "member" : "reader";
}
