// Access levels of keys, and the rights that sharing gives to others.
import type { Sharing } from "./resource.ts";

export const ACCESS_LEVELS = ["VIEWER", "EDITOR", "OWNER"] as const;
export type AccessLevel = (typeof ACCESS_LEVELS)[number];

/** The identity that a key acts as. */
export interface Principal {
  readonly key_id: string;
  readonly owner: string;
  readonly org: string | null;
  readonly access_level: AccessLevel;
}

/** A caller, or the owner of a run. */
export type Actor = Pick<Principal, "owner" | "org">;

/** An owned object, as access rules see it. */
export interface Owned extends Sharing {
  readonly owner: string;
  readonly owner_org: string | null;
}

/** The actor that a run of the object uses credentials as. */
export const ownerOf = ({ owner, owner_org }: Owned): Actor => ({
  owner,
  org: owner_org,
});

export const hasLevel = (principal: Principal, needed: AccessLevel): boolean =>
  ACCESS_LEVELS.indexOf(principal.access_level) >= ACCESS_LEVELS.indexOf(needed);

export const isOwner = (principal: Actor, thing: Owned): boolean => principal.owner === thing.owner;

export const isColleague = (principal: Actor, thing: Owned): boolean =>
  principal.org !== null && principal.org === thing.owner_org;

export const canRead = (principal: Actor, thing: Owned): boolean =>
  thing.community || isOwner(principal, thing) || (thing.org && isColleague(principal, thing));

export const canWrite = isOwner;

/** Running spends the owner's credentials: never open to the community. */
export const canRun = (principal: Actor, thing: Owned): boolean =>
  isOwner(principal, thing) || (thing.org && isColleague(principal, thing));
