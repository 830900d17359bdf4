// The URL of a call: which URLs are valid, and which host they name. Variables may be anywhere,
// even at the beginning, where the value may be a scheme or more, up to the whole URL.
import { Type } from "./type.ts";
import { EXAMPLE } from "./fields.ts";
import { show } from "./validate.ts";
import { IN_URL as VARIABLE } from "./variables.ts";

const FIRST = new RegExp(`^(?:${VARIABLE.source})(?<end>://)?`, "i");
/** The name of a variable may have the characters that end the authority. */
const PARTS = new RegExp(
  `^(?<scheme>https?://)(?<authority>(?:${VARIABLE.source}|[^/?#])*)(?<rest>.*)$`,
  "is",
);

interface Readable {
  /** As written where it has a variable, otherwise in its normal form. */
  readonly host: string;
  /** Whether the scheme, the host and the port have no variable. */
  readonly fixed: boolean;
}
type Reading = Readable | { readonly fault: string };

function read(url: string): Reading {
  const whole = withScheme(url);
  const { scheme = "", authority = "", rest = "" } = PARTS.exec(whole)?.groups ?? {};
  const host = authority.replace(/:[^:\]]*$/, "");
  const port = authority.slice(host.length);
  const number = port.slice(1).replace(VARIABLE, "1");
  const fault =
    spaceFault(url.replace(VARIABLE, "v")) ??
    schemeFault(url, scheme) ??
    hostFault(authority, host);
  if (fault !== undefined) return { fault };
  if (!/^\d*$/.test(number) || (number !== "" && !isPort(Number(number))))
    return { fault: `: its port ${show(port.slice(1))} is not from 1 to 65535` };
  const filledIn = `${scheme}${host.replace(VARIABLE, "v")}`;
  if (!URL.canParse(filledIn)) return { fault: `: its host ${show(host)} is not valid` };
  if (!URL.canParse(`${filledIn}${rest.replace(VARIABLE, "v")}`)) return { fault: "" };
  return {
    host: host.search(VARIABLE) === -1 ? new URL(filledIn).hostname : host,
    fixed: whole === url && authority.search(VARIABLE) === -1,
  };
}

/** A variable at the beginning is read as the scheme before `://`, and otherwise as the host. */
function withScheme(url: string): string {
  const first = FIRST.exec(url);
  if (first === null) return url;
  return first.groups?.["end"] === undefined
    ? `http://${url}`
    : `http://${url.slice(first[0].length)}`;
}

function spaceFault(text: string): string | undefined {
  const [found] = /[\s\p{Cc}]/u.exec(text) ?? [];
  if (found === undefined) return undefined;
  return found === " "
    ? ": it has a space; write %20"
    : ": it has a line break or another character that a URL cannot have";
}

function schemeFault(url: string, scheme: string): string | undefined {
  if (scheme !== "") return undefined;
  // The message already covers other schemes. A colon before digits separates a host and its port.
  return /^(?!https?:)[a-z][a-z0-9+.-]*:(?!\d)/i.test(url)
    ? ""
    : ": it must begin with http://, https:// or a variable";
}

/** An index of PostgreSQL takes some 2,700 bytes, and Unicode names are longer in ASCII. */
const MOST_HOST = 500;

function hostFault(authority: string, host: string): string | undefined {
  if (authority.includes("@"))
    return ": it has a user or password before its host; put them into an Authentication Setting";
  if (authority.includes("\\")) return ": it has a backslash in its host";
  if (host.length > MOST_HOST) return `: its host is longer than ${MOST_HOST} characters`;
  if (/(?:^[^[\]]*|\]):/.test(host.replace(VARIABLE, "v"))) return ": it has more than one port";
  return host === "" ? ": it has no host" : undefined;
}

const isPort = (number: number): boolean => number >= 1 && number <= 65_535;

/** The host of an http or https URL, otherwise undefined. */
export function hostOf(url: string): string | undefined {
  const reading = read(url);
  return "host" in reading ? reading.host : undefined;
}

/** Says why `read` rejects the URL or, if it does not, that a variable is out of place. */
function worded(shown: string, url: string): string {
  const reading = read(url);
  const fault = "fault" in reading ? reading.fault : ": variables are not filled in here";
  return `${shown} is not a valid http or https URL${fault}`;
}

const Text = Type.String({ maxLength: 16 * 1024, examples: [EXAMPLE.url], fault: worded });

export const UrlField = Type.Refine(Text, (url) => "host" in read(url));

/** Whether it is a URL without variables in its scheme, host and port. */
export function isFixed(url: string): boolean {
  const reading = read(url);
  return "host" in reading && reading.fixed;
}

export const FixedUrlField = Type.Refine(Text, isFixed);
