// Who is signed in.
import { signal } from "@preact/signals";
import { hasLevel } from "../../src/model/access.ts";
import type { AccessLevel, Principal } from "../../src/model/access.ts";
import { ApiError, onSignedOut, send } from "./api.ts";

/** Undefined until it is known; null: nobody. */
export const session = signal<Principal | null | undefined>(undefined);

onSignedOut(() => {
  session.value = null;
});

/** Rejects where Sonde does not answer. */
export async function readSession(): Promise<void> {
  try {
    session.value = await send<Principal>("GET", "session/");
  } catch (cause) {
    if (!(cause instanceof ApiError && cause.status === 401)) throw cause;
    session.value = null;
  }
}

/** With a key, or with a code that works once. */
export async function signIn(credential: string): Promise<void> {
  session.value = await send<Principal>("POST", "session/", {
    headers: { authorization: `Bearer ${credential}` },
  });
}

export async function signOut(): Promise<void> {
  await send("DELETE", "session/");
  session.value = null;
}

/** Whether whoever is signed in has at least this level. */
export const has = (level: AccessLevel): boolean =>
  session.value != null && hasLevel(session.value, level);

/** Whether an object is of whoever is signed in. */
export const isMine = (meta: { readonly owner: string }): boolean =>
  session.value?.owner === meta.owner;
