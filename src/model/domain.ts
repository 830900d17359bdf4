// The domain of an Authentication Setting: the hosts that may receive its credentials.
import { parse } from "tldts";
import { EXAMPLE } from "./fields.ts";
import { Type } from "./type.ts";
import { hostOf } from "./url.ts";

/** A name as URLs hold it, with `_`, which internal names may have, or an IPv6 address. */
const HOST = /^[\w-]+(?:\.[\w-]+)*\.?$|^\[[0-9a-f:.]+\]$/;

const BARE_IPV6 = /^[0-9a-f.]*:[0-9a-f:.]*$/i;

/** The normal form of `meta.domain`; undefined unless `text` is a host. */
export function toDomain(text: string): string | undefined {
  const name = BARE_IPV6.test(text) ? `[${text}]` : text;
  const isHost = /^[^/?#@:%{}\s\\]+$|^\[[0-9a-f:.]+\]$/i.test(name);
  const host = isHost ? hostOf(`http://${name}/`) : undefined;
  return host !== undefined && HOST.test(host) ? host : undefined;
}

/**
 * Whether anyone can register names below the host, by the Public Suffix List: com, co.uk,
 * github.io. Names below suffixes not on the list (internal, test) are private.
 */
function isPublicSuffix(host: string): boolean {
  const { isIcann, isPrivate, domain } = parse(host, { allowPrivateDomains: true });
  return (isIcann === true || isPrivate === true) && domain === null;
}

export const Domain = Type.Refine(
  Type.String({
    maxLength: 255,
    examples: [EXAMPLE.domain],
    description:
      "calls to this host and below it may use the setting: a name below a public suffix " +
      "(not com, co.uk or github.io themselves), an internal name or an IP address",
    fault: (shown: string) =>
      `${shown} is not a host below a public suffix, such as api.example.com, ` +
      "nor an internal name (localhost, db, api.internal) or an IP address",
  }),
  (text) => {
    const host = toDomain(text);
    return host !== undefined && !isPublicSuffix(host);
  },
);
