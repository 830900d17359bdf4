// How settings are read from text. Each reader gives undefined for a text that is not allowed.
import { isIP } from "node:net";

export const matching = (pattern: RegExp) => (text: string) =>
  pattern.test(text) ? text : undefined;

export const oneOf =
  <const T extends string>(names: readonly T[]) =>
  (text: string): T | undefined =>
    names.find((name) => name === text);

export const integer = (least: number, most: number) => (text: string) =>
  /^\d{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most
    ? Number(text)
    : undefined;

/** Every part of a comma-separated list must be allowed; repetitions count once. */
export const listOf =
  <T>(parse: (text: string) => T | undefined) =>
  (text: string): readonly T[] | undefined => {
    const parts = text.split(",").map((part) => part.trim());
    const parsed = parts.filter((part) => part !== "").map(parse);
    return parsed.every((part) => part !== undefined)
      ? Object.freeze([...new Set(parsed)])
      : undefined;
  };

export const atLeastOne =
  <T>(parse: (text: string) => readonly T[] | undefined) =>
  (text: string): readonly T[] | undefined => {
    const parsed = parse(text);
    return parsed?.length === 0 ? undefined : parsed;
  };

const port = integer(1, 65_535);

/** Of one of the protocols, such as `nats:`, and with a host. */
export function urlOf(protocols: readonly string[]) {
  return (text: string): string | undefined => {
    if (!URL.canParse(text)) return undefined;
    const { protocol, host, searchParams } = new URL(text);
    // PostgreSQL takes the folder of its socket as the parameter `host`.
    const hasHost = host !== "" || searchParams.has("host");
    return hasHost && protocols.includes(protocol) ? text : undefined;
  };
}

/** 32 bytes, as base64 or as hex digits. */
export function keyBytes(text: string): Uint8Array | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, "hex");
  return /^[A-Za-z0-9+/_-]{43}=?$/.test(text) ? Buffer.from(text, "base64") : undefined;
}

/** An address, a range in CIDR notation or `localhost`; each with or without a port. */
export function destination(text: string): string | undefined {
  const [, bracketed, plain, number] =
    /^(?:\[([^\]]+)\]|([^:[\]]+))(?::([1-9]\d{0,4}))?$/.exec(text) ?? [];
  if (number !== undefined && port(number) === undefined) return undefined;
  return isPlace(bracketed ?? plain ?? text) ? text : undefined;
}

function isPlace(text: string): boolean {
  if (text.toLowerCase() === "localhost") return true;
  const [, address = text, prefix] = /^(.+)\/(\d{1,3})$/.exec(text) ?? [];
  // What the agent would refuse: a zone, and a range of IPv4 addresses that is written as one of
  // IPv6.
  if (address.includes("%") || (prefix && /^::ffff:/i.test(address))) return false;
  const version = isIP(address);
  const widest = version === 4 ? 32 : 128;
  return version > 0 && Number(prefix ?? widest) <= widest;
}

export function hostAndPort(text: string): string | undefined {
  const [, bracketed, name, hostPort] =
    /^(?:\[([^\]]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})$/.exec(text) ?? [];
  const isHost = name !== undefined || isIP(bracketed ?? "") === 6;
  return isHost && port(hostPort ?? "") ? text : undefined;
}
