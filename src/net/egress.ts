// Decides which targets are allowed: public unicast addresses, and those that the operator names.
// It checks the address to dial, so no spelling of a URL and no DNS answer bypasses it.
import { networkInterfaces } from "node:os";
import ipaddr from "ipaddr.js";
import { canonical, EGRESS_ENTRIES, parseEgressEntry } from "../model/egress-entry.ts";
import type { Address, EgressRule } from "../model/egress-entry.ts";
import { invalid } from "../model/errors.ts";

export type EgressRules = ReturnType<typeof parseEgressAllow>;

/**
 * Sonde's own addresses. A call gets there only if an entry names exactly that address and port.
 * Both collections may grow while they are in use.
 */
export interface OwnNetwork {
  /** Ports on this machine, at any of its addresses. */
  readonly ports: ReadonlySet<number>;
  /** The servers that Sonde uses, on any machine, as `serverAt` writes them. */
  readonly servers: ReadonlySet<string>;
}

const NOWHERE: OwnNetwork = { ports: new Set(), servers: new Set() };

/**
 * Throws `invalid` naming the first malformed entry. `interfaces` returns this machine's addresses
 * and is called at each check.
 *
 * A wide range opens neither loopback nor a metadata address nor another address of this machine:
 * loopback needs an entry inside loopback, the others an entry for exactly that address. Sonde's
 * `own` network needs an entry with address and port.
 */
export function parseEgressAllow(
  entries: readonly string[],
  own = NOWHERE,
  interfaces = interfaceAddresses,
) {
  const rules = entries.flatMap((entry) => {
    const parsed = parseEgressEntry(entry.trim());
    if (parsed) return parsed;
    throw invalid(`SONDE_EGRESS_ALLOW: '${entry}' is not ${EGRESS_ENTRIES}`);
  });
  return {
    /** `text` is an IP address, `port` the one dialled. */
    allows(text: string, port: number): boolean {
      if (!ipaddr.isValid(text)) return false;
      const address = canonical(ipaddr.parse(text));
      const read = readings(address);
      const isInterface = read.some((one) => interfaces().has(one.toNormalizedString()));
      const opening = rules.filter((rule) => opens(rule, address, port, isInterface));
      if (read.some((one) => isOwn(one, port, own, isInterface)))
        return opening.some((rule) => rule.port !== null && rule.prefix === bits(address));
      return opening.length > 0 || (isPublic(address) && !isInterface);
    },
  };
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

function opens(rule: EgressRule, address: Address, port: number, isInterface: boolean): boolean {
  if (rule.port !== null && rule.port !== port) return false;
  if (!within(address, rule.network, rule.prefix)) return false;
  if (rule.prefix === bits(address)) return true;
  if (isInterface || readings(address).some(isMetadata)) return false;
  if (carried(address).some(isLoopback)) return false;
  const own = OWN_MACHINE.find(([net, length]) => within(address, net, length));
  return !own || (within(rule.network, ...own) && rule.prefix >= own[1]);
}

const bits = (address: Address): number => (address.kind() === "ipv4" ? 32 : 128);

const isMetadata = (address: Address): boolean =>
  METADATA.some((one) => within(address, one, bits(one)));

const isLoopback = (address: Address): boolean => address.range() === "loopback";

const isOwn = (
  address: Address,
  port: number,
  { ports, servers }: OwnNetwork,
  isInterface: boolean,
): boolean =>
  (ports.has(port) && (isInterface || isOwnMachine(address))) ||
  servers.has(`${address.toString()} ${port}`);

/** A server's IP address and port, in one spelling. */
export const serverAt = (address: string, port: number): string =>
  `${canonical(ipaddr.parse(address)).toString()} ${port}`;

const isOwnMachine = (address: Address): boolean =>
  OWN_MACHINE.some(([network, length]) => within(address, network, length));

const INTERFACES_TTL_MS = 10_000;
let known = { addresses: new Set<string>(), readAt: -Infinity };

/** Returns this machine's addresses other than loopback, reread every 10 s. */
function interfaceAddresses(): ReadonlySet<string> {
  const now = performance.now();
  if (now - known.readAt < INTERFACES_TTL_MS) return known.addresses;
  const addresses = Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .filter(({ internal }) => !internal)
    .map(({ address }) => ipaddr.parse(address.replace(/%.*$/, "")).toNormalizedString());
  known = { addresses: new Set(addresses), readAt: now };
  return known.addresses;
}

const GLOBAL_UNICAST_6 = ipaddr.parseCIDR("2000::/3");

/** Whether the text is an address that the Internet routes, and not a cloud's metadata address. */
export const isPublicAddress = (text: string): boolean =>
  ipaddr.isValid(text) && isPublic(canonical(ipaddr.parse(text)));

/** Whether a cloud serves a machine's credentials at this address. */
export const isMetadataAddress = (text: string): boolean =>
  ipaddr.isValid(text) && isMetadata(canonical(ipaddr.parse(text)));

const isPublic = (address: Address): boolean =>
  address.range() === "unicast" &&
  !isMetadata(address) &&
  !isIsatap(address) &&
  translated(address).length === 0 &&
  (address.kind() === "ipv4" || within(address, ...GLOBAL_UNICAST_6));

const SIX_TO_FOUR = ipaddr.parseCIDR("2002::/16");
const LOCAL_NAT64 = ipaddr.parseCIDR("64:ff9b:1::/48");
// RFC 6052 section 2.2: where the bytes of the IPv4 address are, for prefixes of 32 to 96 bits.
const PLACES = [
  [4, 5, 6, 7],
  [5, 6, 7, 9],
  [6, 7, 9, 10],
  [7, 9, 10, 11],
  [9, 10, 11, 12],
  [12, 13, 14, 15],
];
/** For prefixes of at least 48 bits, the length of `LOCAL_NAT64`. */
const LOCAL_PLACES = PLACES.slice(2);

/**
 * Returns the IPv4 addresses that a relay (6to4, RFC 3056), a tunnel (ISATAP, RFC 5214) or a
 * translator (NAT64, RFC 6052 and 8215) may derive from an IPv6 address.
 */
function carried(address: Address): Address[] {
  if (isIsatap(address)) return [bytesAt(address, [12, 13, 14, 15])];
  if (within(address, ...SIX_TO_FOUR)) return [bytesAt(address, [2, 3, 4, 5])];
  if (!within(address, ...LOCAL_NAT64)) return translated(address);
  return LOCAL_PLACES.map((places) => bytesAt(address, places));
}

const INSIDE: ReadonlySet<string> = new Set([
  "private",
  "loopback",
  "linkLocal",
  "carrierGradeNat",
]);

/**
 * Returns the internal addresses that a translator with its own prefix would reach. Such a prefix
 * is unmarked, but all other bytes of the interface identifier are zero.
 */
function translated(address: Address): Address[] {
  if (address.kind() === "ipv4") return [];
  const identifier = [...address.toByteArray().entries()].slice(8);
  return PLACES.filter((places) =>
    identifier.every(([at, byte]) => byte === 0 || places.includes(at)),
  )
    .map((places) => bytesAt(address, places))
    .filter((one) => INSIDE.has(one.range()) || isMetadata(one));
}

function bytesAt(address: Address, places: readonly number[]): Address {
  const bytes = address.toByteArray();
  return ipaddr.fromByteArray(places.map((at) => bytes[at] ?? 0));
}

/** RFC 5214 section 6.1: the interface identifier embeds an IPv4 address, under any prefix. */
function isIsatap(address: Address): boolean {
  const [flags = 0, ...rest] = address.kind() === "ipv6" ? address.toByteArray().slice(8) : [];
  return (flags & ~0x02) === 0 && rest[0] === 0 && rest[1] === 0x5e && rest[2] === 0xfe;
}

const readings = (address: Address): Address[] => [address, ...carried(address)];
