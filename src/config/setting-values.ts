// Parsers of setting values. Each returns undefined when the text is not allowed.
import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { parseEgressEntry } from "../model/egress-entry.ts";

export const matching = (pattern: RegExp) => (text: string) =>
  pattern.test(text) ? text : undefined;

export const oneOf =
  <const T extends string>(names: readonly T[]) =>
  (text: string): T | undefined =>
    names.find((name) => name === text);

export const integer = (min: number, max: number) => (text: string) =>
  /^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max ? Number(text) : undefined;

/** A comma-separated list. Every item must be allowed; duplicates are dropped. */
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
  (text: string): readonly [T, ...T[]] | undefined => {
    const parsed = parse(text);
    return parsed && isFilled(parsed) ? parsed : undefined;
  };

const isFilled = <T>(list: readonly T[]): list is readonly [T, ...T[]] => list.length > 0;

const port = integer(1, 65_535);

/** A URL with a host and one of the protocols, such as `nats:`. */
export function urlOf(protocols: readonly string[]) {
  return (text: string): string | undefined => {
    if (!URL.canParse(text)) return undefined;
    const { protocol, host, searchParams } = new URL(text);
    // A PostgreSQL URL names the folder of a Unix socket in the parameter `host`.
    const hasHost = host !== "" || searchParams.has("host");
    return hasHost && protocols.includes(protocol) ? text : undefined;
  };
}

/** Whether every percent-encoding in the text is one of UTF-8. */
export function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** An http or https URL that paths can be appended to: returned without a trailing slash. */
export function baseUrl(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, username, password, host, pathname, search, hash } = new URL(text);
  const isPlain = username + password + search + hash === "" && !/[?#]/.test(text);
  if (!isPlain || !/^https?:$/.test(protocol)) return undefined;
  return `${protocol}//${host}${pathname}`.replace(/\/+$/, "");
}

/** An address, or a range such as `10.0.0.0/8`, but not the range of all addresses. */
export function addressRange(text: string): string | undefined {
  const [address = "", length, ...rest] = text.split("/");
  const bits = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0;
  const fits = length === undefined || integer(1, bits)(length) !== undefined;
  return bits > 0 && fits && rest.length === 0 ? text : undefined;
}

/** Lists the certificates in a text. */
export const certificatesIn = (pem: string): string[] =>
  pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];

/** Certificates in PEM, each of which OpenSSL can read. */
export function certificates(text: string): string | undefined {
  const found = certificatesIn(text);
  return found.length > 0 && found.every(isCertificate) ? text : undefined;
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}

/** 32 bytes, as base64 or hex digits. */
export function keyBytes(text: string): Uint8Array | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, "hex");
  return /^[A-Za-z0-9+/_-]{43}=?$/.test(text) ? Buffer.from(text, "base64") : undefined;
}

/** An allowed target beyond public addresses. */
export const destination = (text: string): string | undefined =>
  parseEgressEntry(text) ? text : undefined;

export function hostAndPort(text: string): string | undefined {
  const [, bracketed, name, hostPort] =
    /^(?:\[([^\]]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})$/.exec(text) ?? [];
  const isHost = name !== undefined || isIP(bracketed ?? "") === 6;
  return isHost && port(hostPort ?? "") ? text : undefined;
}

/** The URL of an OTLP/HTTP trace collector; the path is optional. */
export function collectorUrl(text: string): string | undefined {
  const base = baseUrl(text);
  if (base === undefined) return undefined;
  return new URL(base).pathname === "/" ? `${base}/v1/traces` : base;
}

/** Headers as in W3C baggage, and in OTEL_EXPORTER_OTLP_HEADERS: `name=value,name=value`. */
export function headerList(text: string): Readonly<Record<string, string>> | undefined {
  const pairs = text.split(",").map((pair) => {
    const [, name, value = ""] = /^\s*([!#$%&'*+.^_`|~\w-]+)\s*=\s*([!-~]*)\s*$/.exec(pair) ?? [];
    const shown = decoded(value);
    return name === undefined || shown === undefined ? undefined : ([name, shown] as const);
  });
  return pairs.every((pair) => pair !== undefined)
    ? Object.freeze(Object.fromEntries(pairs))
    : undefined;
}

function decoded(value: string): string | undefined {
  try {
    const text = decodeURIComponent(value);
    return /^[\t\u0020-\u007e]*$/.test(text) ? text : undefined;
  } catch {
    return undefined;
  }
}

export const ratio = (text: string): number | undefined =>
  /^(?:0|1|0?\.\d{1,9}|1\.0+|0\.0+)$/.test(text) ? Number(text) : undefined;
