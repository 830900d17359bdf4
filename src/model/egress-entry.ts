// Parses an entry of SONDE_EGRESS_ALLOW, which allows targets beyond public addresses.
import ipaddr from "ipaddr.js";

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

export interface EgressRule {
  readonly network: Address;
  readonly prefix: number;
  /** Null for every port. */
  readonly port: number | null;
}

/** Completes the sentence "… is not". */
export const EGRESS_ENTRIES =
  "an address, a range whose other bits are 0 (10.0.0.0/8), localhost, or one of them with a port (127.0.0.1:8080, [::1]:8080)";

/**
 * Parses an address (`10.1.2.3`), a range (`10.0.0.0/8`), or either with a port (`127.0.0.1:8080`,
 * `[::1]:8080`); `localhost` stands for both loopback addresses. Undefined for anything else, such
 * as `::1:8080`, which is an address, but may be meant as another one with a port.
 */
export function parseEgressEntry(entry: string): EgressRule[] | undefined {
  const { host, port } = splitPort(entry);
  if ((port !== null && !isPort(port)) || isAmbiguous(entry)) return undefined;
  const names = host.toLowerCase() === "localhost" ? ["127.0.0.1", "::1"] : [host];
  const ranges = names.flatMap((name) => parseRange(name) ?? []);
  if (ranges.length < names.length) return undefined;
  return ranges.map((range) => ({ ...range, port: port === null ? null : Number(port) }));
}

function splitPort(entry: string): { host: string; port: string | null } {
  const bracketed = /^\[([^\]]*)\](?::(.*))?$/s.exec(entry);
  if (bracketed) return { host: bracketed[1] ?? "", port: bracketed[2] ?? null };
  const [host = "", port, ...more] = entry.split(":");
  return port === undefined || more.length > 0 ? { host: entry, port: null } : { host, port };
}

const isPort = (text: string): boolean => /^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535;

function isAmbiguous(entry: string): boolean {
  const [, host = "", port = ""] = /^([^[\]]*:[^[\]]*):(\d+)$/.exec(entry) ?? [];
  return isPort(port) && ipaddr.IPv6.isValid(host);
}

function parseRange(text: string): Omit<EgressRule, "port"> | undefined {
  const [base = "", length, ...more] = text.split("/");
  const four = ipaddr.IPv4.isValidFourPartDecimal(base);
  // A zone names an interface; a range belongs to none.
  if (more.length > 0 || base.includes("%") || !(four || ipaddr.IPv6.isValid(base)))
    return undefined;
  const address = ipaddr.parse(base);
  if (length === undefined) {
    const one = canonical(address);
    return { network: one, prefix: one.kind() === "ipv4" ? 32 : 128 };
  }
  const prefix = /^\d{1,3}$/.test(length) ? Number(length) : Infinity;
  if (prefix > (four ? 32 : 128) || !isNetwork(address, prefix)) return undefined;
  // Such a range would never match, since its addresses are judged as IPv4.
  return canonical(address) === address ? { network: address, prefix } : undefined;
}

/** Whether the bits beyond the prefix are 0. */
const isNetwork = (address: Address, prefix: number): boolean =>
  address
    .toByteArray()
    .every((byte, at) => (byte & (0xff >> Math.min(Math.max(prefix - 8 * at, 0), 8))) === 0);

const NAT64 = ipaddr.parseCIDR("64:ff9b::/96");

/** Unwraps an IPv4 address inside IPv6 (mapped, RFC 4291; NAT64, RFC 6052), to judge it as IPv4. */
export function canonical(address: Address): Address {
  if (address instanceof ipaddr.IPv4) return address;
  if (address.isIPv4MappedAddress()) return address.toIPv4Address();
  return address.match(...(NAT64 as [ipaddr.IPv6, number]))
    ? ipaddr.fromByteArray(address.toByteArray().slice(12))
    : address;
}
