// Allowed targets: public unicast addresses, and those that the operator names. The check is on the
// address to dial, so no spelling of a URL and no answer of a name server gets around it.
import { networkInterfaces } from "node:os";
import ipaddr from "ipaddr.js";
import { invalid } from "../model/errors.ts";

type Address = ipaddr.IPv4 | ipaddr.IPv6;

interface Rule {
  readonly network: Address;
  readonly prefix: number;
  /** Null: every port. */
  readonly port: number | null;
}

export interface EgressRules {
  /** `address` is an IP address in text, `port` the one dialled. */
  allows(address: string, port: number): boolean;
}

/**
 * Where Sonde itself is. A call gets there only if an entry names exactly that address and port.
 * Both collections may grow while they are in use.
 */
export interface OwnNetwork {
  /** Ports on this machine, at any of its addresses. */
  readonly ports: ReadonlySet<number>;
  /** The servers that it uses, on any machine. */
  readonly servers: ReadonlyMap<string, ServerAddress>;
}

export interface ServerAddress {
  /** An IP address. */
  readonly address: string;
  readonly port: number;
}

const NOWHERE: OwnNetwork = { ports: new Set(), servers: new Map() };

/**
 * Entries are an address (`10.1.2.3`), a range (`10.0.0.0/8`), or one of them at a port
 * (`127.0.0.1:8080`, `[::1]:8080`); `localhost` stands for both loopback addresses. Throws
 * `invalid` naming the first entry that is malformed.
 *
 * Only an entry inside loopback opens loopback, and only a metadata address itself opens it: a wide
 * range opens neither. Only an address with its port opens a part of Sonde's `own` network.
 */
export function parseEgressAllow(entries: readonly string[], own = NOWHERE): EgressRules {
  const rules = entries.flatMap(parseEntry);
  return {
    allows(text, port) {
      if (!ipaddr.isValid(text)) return false;
      const address = canonical(ipaddr.parse(text));
      const opening = rules.filter((rule) => opens(rule, address, port));
      if (readings(address).some((one) => isOwn(one, port, own)))
        return opening.some((rule) => rule.port !== null && rule.prefix === bits(address));
      return isPublic(address) || opening.length > 0;
    },
  };
}

function parseEntry(entry: string): Rule[] {
  const { host, port } = splitPort(entry.trim());
  const names = host.toLowerCase() === "localhost" ? ["127.0.0.1", "::1"] : [host];
  return names.map((name) => {
    const range = parseRange(name);
    if (!range || (port !== null && !isPort(port)))
      throw invalid(
        `SONDE_EGRESS_ALLOW: '${entry}' is not an address, a range (10.0.0.0/8), or one of them with a port (127.0.0.1:8080, [::1]:8080)`,
      );
    return { ...range, port: port === null ? null : Number(port) };
  });
}

function splitPort(entry: string): { host: string; port: string | null } {
  const bracketed = /^\[([^\]]*)\](?::(.*))?$/s.exec(entry);
  if (bracketed) return { host: bracketed[1] ?? "", port: bracketed[2] ?? null };
  const [host = "", port, ...more] = entry.split(":");
  return port === undefined || more.length > 0 ? { host: entry, port: null } : { host, port };
}

const isPort = (text: string): boolean => /^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535;

function parseRange(text: string): Omit<Rule, "port"> | undefined {
  const [base = "", length, ...more] = text.split("/");
  const four = ipaddr.IPv4.isValidFourPartDecimal(base);
  if (more.length > 0 || !(four || ipaddr.IPv6.isValid(base))) return undefined;
  const address = ipaddr.parse(base);
  const widest = address.kind() === "ipv4" ? 32 : 128;
  if (length === undefined) {
    const one = canonical(address);
    return { network: one, prefix: one.kind() === "ipv4" ? 32 : 128 };
  }
  if (!/^\d{1,3}$/.test(length) || Number(length) > widest) return undefined;
  // Such a range would never match: its addresses are judged as IPv4.
  if (canonical(address) !== address) return undefined;
  return { network: address, prefix: Number(length) };
}

// Where clouds serve a machine's credentials.
const METADATA = [
  "169.254.169.254", // most of them
  "169.254.170.2", // Amazon ECS
  "169.254.170.23", // Amazon EKS
  "fd00:ec2::23",
  "fd00:ec2::254", // Amazon EC2
  "168.63.129.16", // Azure's wire server
  "fd20:ce::254", // Google
  "100.100.100.200", // Alibaba
  "192.0.0.192", // Oracle
  "169.254.0.23", // Tencent
  "169.254.42.42", // Scaleway
  "fd00:42::42",
  "fe80::a9fe:a9fe", // OpenStack
].map((text) => ipaddr.parse(text));
const OWN_MACHINE = ["127.0.0.0/8", "0.0.0.0/8", "::1/128", "::/128"].map((range) =>
  ipaddr.parseCIDR(range),
);

const within = (address: Address, network: Address, prefix: number): boolean =>
  address.kind() === network.kind() && address.match(network, prefix);

function opens(rule: Rule, address: Address, port: number): boolean {
  if (rule.port !== null && rule.port !== port) return false;
  if (!within(address, rule.network, rule.prefix)) return false;
  if (rule.prefix === bits(address)) return true;
  if (readings(address).some(isMetadata) || carried(address).some(isLoopback)) return false;
  const own = OWN_MACHINE.find(([net, length]) => within(address, net, length));
  return !own || (within(rule.network, ...own) && rule.prefix >= own[1]);
}

const bits = (address: Address): number => (address.kind() === "ipv4" ? 32 : 128);

const isMetadata = (address: Address): boolean =>
  METADATA.some((one) => within(address, one, bits(one)));

const isLoopback = (address: Address): boolean => address.range() === "loopback";

const isOwn = (address: Address, port: number, { ports, servers }: OwnNetwork): boolean =>
  (ports.has(port) && isOwnMachine(address)) ||
  [...servers.values()].some(
    (one) => one.port === port && isSame(canonical(ipaddr.parse(one.address)), address),
  );

/** Reads this machine's addresses each time, since they change; called for own ports only. */
const isOwnMachine = (address: Address): boolean =>
  OWN_MACHINE.some(([network, length]) => within(address, network, length)) ||
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .some((own) => isSame(ipaddr.parse(own.address), address));

const isSame = (a: Address, b: Address): boolean =>
  a.toNormalizedString() === b.toNormalizedString();

const GLOBAL_UNICAST_6 = ipaddr.parseCIDR("2000::/3");

const isPublic = (address: Address): boolean =>
  address.range() === "unicast" &&
  !isMetadata(address) &&
  (address.kind() === "ipv4" || within(address, ...GLOBAL_UNICAST_6));

const NAT64 = ipaddr.parseCIDR("64:ff9b::/96");

/** An IPv4 address inside IPv6 (mapped, RFC 4291; behind NAT64, RFC 6052) is judged as itself. */
function canonical(address: Address): Address {
  if (address instanceof ipaddr.IPv4) return address;
  if (address.isIPv4MappedAddress()) return address.toIPv4Address();
  return within(address, ...NAT64)
    ? ipaddr.fromByteArray(address.toByteArray().slice(12))
    : address;
}

const SIX_TO_FOUR = ipaddr.parseCIDR("2002::/16");
const LOCAL_NAT64 = ipaddr.parseCIDR("64:ff9b:1::/48");
// RFC 6052 section 2.2: the bytes of the IPv4 address by prefixes of 48, 56, 64 and 96 bits.
const PLACES = [
  [6, 7, 9, 10],
  [7, 9, 10, 11],
  [9, 10, 11, 12],
  [12, 13, 14, 15],
];

/**
 * The IPv4 addresses that a relay (6to4, RFC 3056) or a local translator (NAT64, RFC 8215) may
 * derive from an IPv6 address.
 */
function carried(address: Address): Address[] {
  if (within(address, ...SIX_TO_FOUR)) return [bytesAt(address, [2, 3, 4, 5])];
  if (!within(address, ...LOCAL_NAT64)) return [];
  return PLACES.map((places) => bytesAt(address, places));
}

function bytesAt(address: Address, places: readonly number[]): Address {
  const bytes = address.toByteArray();
  return ipaddr.fromByteArray(places.map((at) => bytes[at] ?? 0));
}

const readings = (address: Address): Address[] => [address, ...carried(address)];
