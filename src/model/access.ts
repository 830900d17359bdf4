// Who may do what: access levels of keys, and what sharing lets others read and run.
import type { Sharing } from "./resource.ts";

export const ACCESS_LEVELS = ["VIEWER", "EDITOR", "OWNER"] as const;
export type AccessLevel = (typeof ACCESS_LEVELS)[number];

/** Whoever a key acts as. */
export interface Principal {
  readonly key_id: string;
  readonly owner: string;
  readonly org: string | null;
  readonly access_level: AccessLevel;
}

/** On whose behalf something is done: of a caller, or of the owner of what runs. */
export type Actor = Pick<Principal, "owner" | "org">;

/** An owned thing, as far as access to it is concerned. */
export interface Owned extends Sharing {
  readonly owner: string;
  readonly owner_org: string | null;
}

/** On whose behalf what belongs to it is used. */
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
