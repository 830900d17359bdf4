// Tracks who is signed in, in this tab and in the other tabs of the browser.
import { signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { hasLevel } from "../../src/model/access.ts";
import type { AccessLevel, Principal } from "../../src/model/access.ts";
import { ApiError, onSignedOut, send } from "./api.ts";
import type { Versioned } from "./api.ts";
import { isHeld } from "./history-guard.ts";
import { now } from "./now.ts";

/** The signed-in reader. Undefined until Sonde has answered; null: none. */
export const session = signal<Principal | null | undefined>(undefined);

/**
 * Set while the page has unsaved changes and the browser's session is no longer its reader's: it
 * has ended (`by` is null), or belongs to `by`.
 */
export const interruption = signal<{ readonly by: Principal | null } | null>(null);

/** Resolves to whether the reader has come back. */
let settled = Promise.withResolvers<boolean>();

/** Keys of the same owner, organization and level see and may do the same. */
const isSameReader = (a: Principal, b: Principal): boolean =>
  a.owner === b.owner && a.org === b.org && a.access_level === b.access_level;

/** Notes that the browser's session is now `principal`'s, or has ended. */
function become(principal: Principal | null): void {
  const reader = session.peek();
  const isBack = reader != null && principal !== null && isSameReader(reader, principal);
  if (reader && !isBack && isHeld()) {
    interruption.value = { by: principal };
    return;
  }
  if (!isBack) session.value = null; // forgets what the previous reader has seen
  session.value = principal;
  settle(isBack);
}

function settle(isBack: boolean): void {
  interruption.value = null;
  settled.resolve(isBack);
  settled = Promise.withResolvers();
}

/** Discards the unsaved changes, and continues with the browser's current session. */
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

/** Returns null for a session that has ended. */
function ended(cause: unknown): null {
  if (cause instanceof ApiError && cause.status === 401) return null;
  throw cause;
}

/** Rejects if Sonde does not answer, or answers with an error other than 401. */
export async function readSession(): Promise<void> {
  become(await send<Principal>("GET", "session/").catch(ended));
}

/** Notices a session that has ended elsewhere, for example with its key. Rejects like the above. */
export const noticeEnd = (): Promise<unknown> =>
  send<Principal>("GET", "session/").catch((cause: unknown) => become(ended(cause)));

const SIGNED = "signed-in-or-out";

/** Notifies the other tabs, which hear of each change to local storage. */
const tellOthers = (): void => localStorage.setItem(SIGNED, String(now()));

/** Reads the session again when another tab changes it, or the browser restores a cached page. */
export function followSession(): void {
  const readAgain = (): void => void readSession().catch(() => undefined);
  addEventListener("storage", ({ key }) => key === SIGNED && readAgain());
  addEventListener("pageshow", ({ persisted }) => persisted && readAgain());
}

/** Signs in with a key, or with a code that works once. */
export async function signIn(credential: string): Promise<void> {
  const headers = { authorization: `Bearer ${credential}` };
  become(await send<Principal>("POST", "session/", { headers }));
  tellOthers();
}

/** Rejects like `readSession`. */
export async function signOut(): Promise<void> {
  await send("DELETE", "session/").catch(ended);
  become(null);
  tellOthers();
}

/** Tells whether the signed-in user has at least this level. */
export const has = (level: AccessLevel): boolean =>
  session.value != null && hasLevel(session.value, level);

/** Tells whether the signed-in user may change and delete an object. */
export const mayChange = ({ role }: Versioned<unknown>): boolean =>
  has("EDITOR") && role === "owner";

/**
 * Tells whether the signed-in user may run and deploy a call or a workflow: its owner may, and the
 * members of the organization that it is shared with; the community never may.
 */
export const mayRun = ({ role }: Versioned<unknown>): boolean => has("EDITOR") && role !== "reader";

/** Tells whether the signed-in user may read a call's results, or its statistics. */
export const maySee = <P extends "results" | "stats">(
  part: P,
  { object, role }: Versioned<{ readonly access: Readonly<Record<P, boolean>> }>,
): boolean => object.access[part] || role !== "reader";

/**
 * Tells whether an object's owner has the signed-in user's name. In a list, where nothing else says
 * whose it is, someone of the same name in another organization passes for the user.
 */
export const isMine = (meta: { readonly owner: string }): boolean =>
  session.value?.owner === meta.owner;

/**
 * Tells whether a form offers to share an object with the organization: a key may have none. What
 * was shared once stays offered, so that an unticked box can be ticked again.
 */
export function useOrganizationOffer(isShared: boolean): boolean {
  const wasShared = useRef(false);
  wasShared.current ||= isShared;
  return wasShared.current || session.value?.org != null;
}
