// What a request carries as credentials: masked in results, and not sent on to another host.
import { isCredential } from "../../model/credential-names.ts";
import type { HttpRequest } from "./http-request.ts";
import { textOfHeader } from "./http-request.ts";

// RFC 9110 section 11.4: Bearer, Digest.
const WITH_SCHEME = /^[\w-]+ +(\S.*)$/s;
// Of what they consist of, only the signature is secret, and that holds for one request.
const SIGNATURE = /^(?:OAuth|AWS4-HMAC-SHA256) /i;

// A shorter part of a credential is a word like "none".
const SHORTEST_PART = 8;

/** Most URLs have none, and making the object that reads them is not for nothing. */
const parametersOf = (url: URL): [string, string][] =>
  url.search === "" ? [] : [...url.searchParams];

/** What a request sends as a credential, and parts of it that a server may well echo. */
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

/** Of a list, its members and what is set to them. */
const partsOf = (value: string): string[] =>
  value
    .split(/[\s;,]+/)
    .flatMap((part) => [part, part.slice(part.indexOf("=") + 1)])
    .map((part) => part.replace(/^"(.*)"$/, "$1"));
