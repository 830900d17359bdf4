// A request as sent, and the credentials in it.
import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
import { isCredential } from "../../model/mask.ts";
import type { KeyValue } from "../../model/fields.ts";
import type { ClientCertificate } from "../../runtime/client-certificate.ts";

/** Maximum length of the URL of a call or redirect, in characters. */
export const MAX_URL_LENGTH = 32 * 1024;

export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  /** In sending order; a value has one character per byte on the wire. */
  readonly headers: readonly KeyValue[];
  readonly body: Buffer | null;
  /** What must not reach another host, besides the headers that always hold credentials. */
  readonly confidential?: {
    /** Names in lower case. */
    readonly headers: readonly string[];
    readonly body: boolean;
  };
  /** Values that its URL may hold, and that no log may show. */
  readonly secrets?: readonly string[];
  /** PEM; presented to this host only. */
  readonly clientCertificate?: ClientCertificate;
  /**
   * Signs the request again after a redirect within its host; set if each request needs its own
   * signature.
   */
  readonly sign?: (redirected: HttpRequest, moment: Moment) => Promise<BuiltRequest>;
}

/** A reason is a sentence for the user, without credentials. */
export type BuiltRequest = { readonly request: HttpRequest } | { readonly reason: string };

/** The time-dependent inputs of a signature. */
export interface Moment {
  /** Epoch milliseconds. */
  readonly now: number;
  /** Letters and digits, never used twice. */
  readonly nonce: string;
}

export const momentAt = (now: number): Moment => ({
  now,
  nonce: randomUUID().replaceAll("-", ""),
});

/** Decodes a header's value from UTF-8; if it is not UTF-8, keeps one character per byte. */
export function textOfHeader(value: string): string {
  if (!/[\x80-\xff]/.test(value)) return value;
  const bytes = Buffer.from(value, "latin1");
  return isUtf8(bytes) ? bytes.toString() : value;
}

// RFC 9110 section 11.4: Bearer, Digest.
const WITH_SCHEME = /^[\w-]+ +(\S.*)$/s;
// In these, only the signature is secret, and it is valid for one request. With PLAINTEXT, it is
// the secrets themselves.
const SIGNATURE = /^(?:OAuth (?!.*"PLAINTEXT")|AWS4-HMAC-SHA256 )/i;

// Shorter parts of a credential are words like "none".
const SHORTEST_PART = 8;

/** Most URLs have no query, and `searchParams` is expensive. */
const parametersOf = (url: URL): [string, string][] =>
  url.search === "" ? [] : [...url.searchParams];

/** Returns the credentials that a request sends, and the parts of them that a server may echo. */
export function credentialsIn({ headers, url, confidential }: HttpRequest): string[] {
  const names = confidential?.headers ?? [];
  const values = headers
    .filter(({ key }) => isCredential(key) || names.includes(key.toLowerCase()))
    .map(({ value }) => textOfHeader(value));
  const parameters = parametersOf(url)
    .filter(([name]) => isCredential(name))
    .map(([, value]) => value);
  const bare = values.map((value) => WITH_SCHEME.exec(value)?.[1] ?? value);
  const parts = values.flatMap((value, at) =>
    SIGNATURE.test(value) ? [] : partsOf(bare[at] ?? ""),
  );
  return [
    ...bare.filter((value) => !values.includes(value)),
    ...[...bare, ...parts, ...parameters].filter(({ length }) => length >= SHORTEST_PART),
  ];
}

/** The members of a list, and the values of those that are `name=value`. */
const partsOf = (value: string): string[] =>
  value
    .split(/[\s;,]+/)
    .flatMap((part) => [part, part.slice(part.indexOf("=") + 1)])
    .map((part) => part.replace(/^"(.*)"$/, "$1"));
