// The authentication types, in words, and what each of them takes.
import type { AuthSetting } from "../../src/model/auth-setting.ts";

export type AuthType = AuthSetting["settings"]["auth_type"];

export const TEXTS = {
  access_token_url: "Token URL (access_token_url)",
  authorize_url: "Audience of the assertion (authorize_url)",
  scope: "Scope",
  audience: "Audience",
  issuer: "Issuer",
  subject: "Subject",
  algorithm: "Algorithm",
  key_id: "Key id",
  header_name: "Header with the signature (header_name)",
  realm: "Realm",
  region: "Region",
  service: "Service",
} as const;

export type TextKey = keyof typeof TEXTS;

export const TEXT_KEYS = Object.keys(TEXTS) as readonly TextKey[];

/** What an empty field means. */
export const EMPTY_MEANS: Readonly<Partial<Record<TextKey, string>>> = {
  authorize_url: "Default: the token URL.",
  issuer: "Default: the client id.",
  subject: "Default: the issuer.",
  algorithm: "Default: that of the PEM key, or HS256 for any other secret.",
  header_name: "Default: X-JWS-Signature.",
  region: "Default: the one in the host name, or us-east-1.",
  service: "Default: the one in the host name.",
};

export const SWITCHES = {
  basic_auth_get_token_method: "Send the client id and secret in an Authorization header",
  detached: "Leave the body out of the signature header (detached)",
} as const;

export type SwitchKey = keyof typeof SWITCHES;

export const SWITCH_KEYS = Object.keys(SWITCHES) as readonly SwitchKey[];

export interface AuthTypeInfo {
  readonly name: string;
  /** What the type does to calls. */
  readonly effect: string;
  /** Labels of `keys.client_id` and `keys.client_secret`, where the type uses them. */
  readonly clientId?: string;
  readonly clientSecret?: string;
  /** The secret may be a key in PEM. */
  readonly isPem?: boolean;
  readonly texts: readonly TextKey[];
  readonly switches: readonly SwitchKey[];
  readonly choice?: "signature_method" | "get_token_method";
}

const CLIENT = { clientId: "Client id", clientSecret: "Client secret" } as const;

export const AUTH_TYPES: Readonly<Record<AuthType, AuthTypeInfo>> = {
  NONE: {
    name: "None",
    effect: "Adds nothing to a call but its custom variables and client certificate.",
    texts: [],
    switches: [],
  },
  MANUAL: {
    name: "Manual",
    effect: "Adds the headers and parameters of a token to a call.",
    texts: [],
    switches: [],
  },
  BASIC: {
    name: "Basic",
    effect: "Sends the user name and the password in the Authorization header (RFC 7617).",
    clientId: "User name (client id)",
    clientSecret: "Password (client secret)",
    texts: [],
    switches: [],
  },
  OAUTH1: {
    name: "OAuth 1",
    effect: "Signs each request with the consumer's secret and that of the token (RFC 5849).",
    clientId: "Consumer key (client id)",
    clientSecret: "Consumer secret (client secret)",
    texts: ["realm"],
    switches: [],
    choice: "signature_method",
  },
  OAUTH2: {
    name: "OAuth 2",
    effect: "Sends the token as a bearer token, and renews it before it expires.",
    ...CLIENT,
    texts: ["access_token_url", "scope", "audience"],
    switches: ["basic_auth_get_token_method"],
    choice: "get_token_method",
  },
  OAUTH2_JWT: {
    name: "OAuth 2 with a JWT",
    effect: "Exchanges a signed assertion for a token, and sends it as a bearer token (RFC 7523).",
    clientId: "Client id",
    clientSecret: "Private key in PEM, or shared secret (client secret)",
    isPem: true,
    texts: [
      "access_token_url",
      "authorize_url",
      "issuer",
      "subject",
      "algorithm",
      "key_id",
      "scope",
    ],
    switches: [],
    choice: "get_token_method",
  },
  OAUTH2_JWS: {
    name: "OAuth 2 with a JWS",
    effect: "Signs the body of each request (RFC 7515), in addition to the bearer token.",
    clientSecret: "Private key in PEM, or shared secret (client secret)",
    isPem: true,
    texts: ["algorithm", "key_id", "header_name"],
    switches: ["detached"],
  },
  AMAZON: {
    name: "Amazon (AWS)",
    effect: "Signs each request with AWS Signature Version 4.",
    clientId: "Access key id (client id)",
    clientSecret: "Secret access key (client secret)",
    texts: ["region", "service"],
    switches: [],
  },
};

export const AUTH_TYPE_CHOICES = Object.entries(AUTH_TYPES).map(([value, { name }]) => ({
  value: value as AuthType,
  name: `${name} (${value})`,
}));
