// The parts of an authentication setting and its token that a tick carries for one call.
import type { Static } from "typebox";
import { nullable } from "./fields.ts";
import { Type } from "./type.ts";

const Pair = Type.Object({ key: Type.String(), value: Type.String() });
const Text = Type.Optional(nullable(Type.String()));

const TickToken = Type.Object({
  name: Type.String(),
  access_token: Text,
  token_secret: Text,
  headers: Type.Optional(Type.Array(Pair)),
  parameters: Type.Optional(Type.Array(Pair)),
  /** Epoch milliseconds; null if it does not expire. */
  expires_at: nullable(Type.Number()),
  /** Why the latest attempt to renew it failed. */
  renewal_failure: Text,
  /** Why it must not be sent now; its secrets are then left out. */
  withheld: Text,
  /** Whether Sonde obtains and renews it. */
  is_renewed: Type.Optional(Type.Boolean()),
});

export const AuthorizationSchema = Type.Object({
  auth_type: Type.String(),
  /** Credentials go only to this host and its subdomains. */
  domain: Type.String(),
  settings: Type.Record(Type.String(), Type.Unknown()),
  keys: Type.Object({ client_id: Text, client_secret: Text }),
  token: nullable(TickToken),
});

export type Authorization = Static<typeof AuthorizationSchema>;
export type TickToken = Static<typeof TickToken>;

/** Expects both in the form of `URL.hostname`. */
export function isInDomain(host: string, domain: string): boolean {
  const [inner, outer] = [host, domain].map((name) => name.toLowerCase().replace(/\.$/, "")) as [
    string,
    string,
  ];
  return outer !== "" && (inner === outer || inner.endsWith(`.${outer}`));
}

/** A setting that is a non-empty string; otherwise undefined. */
export function settingOf(
  { settings }: Pick<Authorization, "settings">,
  name: string,
): string | undefined {
  const value = settings[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}
