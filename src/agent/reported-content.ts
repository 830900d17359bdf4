// The body of a response on its way into a report: secrets masked.
import type { Content } from "../model/content.ts";
import { createMask, MASK } from "../model/mask.ts";
import type { HttpRequest } from "./http-request.ts";
import { isCredential } from "./credentials.ts";
import type { Trace } from "./trace.ts";

type Mask = (text: string) => string;

/** Servers echo requests: what was sent as a credential is masked wherever it comes back. */
export function maskedContent(
  traces: readonly Trace[],
  mask: Mask,
): Content | null {
  const content = traces.at(-1)?.content ?? null;
  if (content?.content == null) return content;
  const maskSent = createMask(
    traces.flatMap(({ request }) => credentialsOf(request)),
  );
  const text = maskMembers(maskSent(mask(content.content)));
  return { ...content, content: text };
}

// A shorter part of a credential is a word like "Bearer".
const SHORTEST_PART = 8;

function credentialsOf({ headers, url, confidential }: HttpRequest): string[] {
  const names = confidential?.headers ?? [];
  const sent = headers
    .filter(({ key }) => isCredential(key) || names.includes(key.toLowerCase()))
    .map(({ value }) => Buffer.from(value, "latin1").toString())
    .flatMap((value) => [value, ...value.split(/[\s;]+/).flatMap(sides)]);
  const parameters = [...url.searchParams]
    .filter(([name]) => isCredential(name))
    .map(([, value]) => value);
  return [...sent, ...parameters].filter(
    ({ length }) => length >= SHORTEST_PART,
  );
}

/** Of a cookie: all of it, and its value. */
const sides = (part: string): string[] => [
  part,
  part.slice(part.indexOf("=") + 1),
];

// What token servers answer with (RFC 6749 section 5.1), and what nobody means to show.
const SECRET_MEMBER =
  /("(?:access_token|refresh_token|id_token|client_secret|password)"\s*:\s*")(?:[^"\\]|\\.)*"/gi;

const maskMembers: Mask = (text) =>
  text.replace(SECRET_MEMBER, (_, before: string) => `${before}${MASK}"`);
