// Who is signed in, in this tab and in the other tabs of the browser.
import { signal } from "@preact/signals";
import { hasLevel } from "../../src/model/access.ts";
import type { AccessLevel, Principal } from "../../src/model/access.ts";
import { ApiError, onSignedOut, send } from "./api.ts";
import { isHeld } from "./history-guard.ts";
import { now } from "./now.ts";

/** Whom the page is shown to. Undefined until it is known; null: nobody. */
export const session = signal<Principal | null | undefined>(undefined);

/**
 * Set while the page holds what its reader has not saved, and the browser's session is no longer
 * the reader's: it has ended, or is `by` somebody else.
 */
export const interruption = signal<{ readonly by: Principal | null } | null>(null);

/** Resolves to whether the reader has come back. */
let settled = Promise.withResolvers<boolean>();

/** Two keys of one owner and level see and may do the same. */
const isSameReader = (a: Principal, b: Principal): boolean =>
  a.owner === b.owner && a.org === b.org && a.access_level === b.access_level;

/** The browser's session is `principal`'s from now on. */
function become(principal: Principal | null): void {
  const reader = session.peek();
  const isBack = reader != null && principal !== null && isSameReader(reader, principal);
  if (reader && !isBack && isHeld()) {
    interruption.value = { by: principal };
    return;
  }
  if (!isBack) session.value = null; // what the reader before has seen is forgotten
  session.value = principal;
  settle(isBack);
}

function settle(isBack: boolean): void {
  interruption.value = null;
  settled.resolve(isBack);
  settled = Promise.withResolvers();
}

/** What the reader has not saved is given up. */
export function giveUp(): void {
  const { by } = interruption.peek() ?? { by: null };
  session.value = null;
  session.value = by;
  settle(false);
}

onSignedOut(() => {
  become(null);
  return interruption.peek() ? settled.promise : Promise.resolve(false);
});

/** Rejects where Sonde does not answer. */
export async function readSession(): Promise<void> {
  become(
    await send<Principal>("GET", "session/").catch((cause: unknown) => {
      if (cause instanceof ApiError && cause.status === 401) return null;
      throw cause;
    }),
  );
}

const SIGNED = "signed-in-or-out";

/** The other tabs hear of each change of what is stored. */
const tellOthers = (): void => localStorage.setItem(SIGNED, String(now()));

/** Follows the tabs that share the session, and a page that the browser brings back as it was. */
export function followSession(): void {
  const readAgain = (): void => void readSession().catch(() => undefined);
  addEventListener("storage", ({ key }) => key === SIGNED && readAgain());
  addEventListener("pageshow", ({ persisted }) => persisted && readAgain());
}

/** With a key, or with a code that works once. */
export async function signIn(credential: string): Promise<void> {
  const headers = { authorization: `Bearer ${credential}` };
  become(await send<Principal>("POST", "session/", { headers }));
  tellOthers();
}

export async function signOut(): Promise<void> {
  await send("DELETE", "session/");
  become(null);
  tellOthers();
}

/** Whether whoever is signed in has at least this level. */
export const has = (level: AccessLevel): boolean =>
  session.value != null && hasLevel(session.value, level);

/** Whether an object is of whoever is signed in: answers name owners without their organization. */
export const isMine = (meta: { readonly owner: string }): boolean =>
  session.value?.owner === meta.owner;

/**
 * Whether whoever is signed in may run and deploy a call or a workflow: its owner, and the members
 * of the organization that it is shared with; the community never may.
 */
export const mayRun = (target: {
  readonly meta: { readonly owner: string };
  readonly access: { readonly org: boolean };
}): boolean =>
  has("EDITOR") && (isMine(target.meta) || (target.access.org && session.value?.org != null));
