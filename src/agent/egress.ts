// Which addresses a call may connect to: public unicast ones, and what the operator names. Checked on the address that
// is dialled, so that no spelling of a URL and no answer of a name server gets around it.
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
 * Entries are an address (`10.1.2.3`), a range (`10.0.0.0/8`), or one of them at a port (`127.0.0.1:8080`,
 * `[::1]:8080`); `localhost` stands for both loopback addresses. Throws `invalid` naming the first entry that is none.
 *
 * Loopback is opened only by an entry inside it, a metadata address only by itself: a wide range opens neither. Nor does
 * a range, or an address without its port, open `ownPorts` of this machine: where Sonde itself listens.
 */
export function parseEgressAllow(
  entries: readonly string[],
  ownPorts: () => readonly number[] = () => [],
): EgressRules {
  const rules = entries.flatMap(parseEntry);
  return {
    allows(text, port) {
      if (!ipaddr.isValid(text)) return false;
      const address = canonical(ipaddr.parse(text));
      const opening = rules.filter((rule) => opens(rule, address, port));
      if (ownPorts().includes(port) && isOwnMachine(address))
        return opening.some((rule) => isExact(rule, address));
      return isPublic(address) || opening.length > 0;
    },
  };
}

function parseEntry(entry: string): Rule[] {
  const { host, port } = splitPort(entry.trim());
  const names =
    host.toLowerCase() === "localhost" ? ["127.0.0.1", "::1"] : [host];
  return names.map((name) => {
    const range = parseRange(name);
    if (!range || (port !== null && !isPort(port)))
      throw invalid(
        `'${entry}' is not an address, a range (10.0.0.0/8) or an address with a port (127.0.0.1:8080, [::1]:8080)`,
      );
    return { ...range, port: port === null ? null : Number(port) };
  });
}

function splitPort(entry: string): { host: string; port: string | null } {
  const bracketed = /^\[([^\]]*)\](?::(.*))?$/s.exec(entry);
  if (bracketed)
    return { host: bracketed[1] ?? "", port: bracketed[2] ?? null };
  const [host = "", port, ...more] = entry.split(":");
  return port === undefined || more.length > 0
    ? { host: entry, port: null }
    : { host, port };
}

const isPort = (text: string): boolean =>
  /^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535;

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
  return { network: address, prefix: Number(length) };
}

const METADATA = ["169.254.169.254", "fd00:ec2::254"].map((text) =>
  ipaddr.parse(text),
);
const OWN_MACHINE = ["127.0.0.0/8", "0.0.0.0/8", "::1/128", "::/128"].map(
  (range) => ipaddr.parseCIDR(range),
);

const within = (address: Address, network: Address, prefix: number): boolean =>
  address.kind() === network.kind() && address.match(network, prefix);

function opens(rule: Rule, address: Address, port: number): boolean {
  if (rule.port !== null && rule.port !== port) return false;
  if (!within(address, rule.network, rule.prefix)) return false;
  if (METADATA.some((one) => within(address, one, bits(one))))
    return rule.prefix === bits(address);
  const own = OWN_MACHINE.find(([net, length]) => within(address, net, length));
  return !own || (within(rule.network, ...own) && rule.prefix >= own[1]);
}

const bits = (address: Address): number =>
  address.kind() === "ipv4" ? 32 : 128;

const isExact = (rule: Rule, address: Address): boolean =>
  rule.port !== null && rule.prefix === bits(address);

/** Asked for own ports only, so that addresses may come and go. */
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
  (address.kind() === "ipv4" || within(address, ...GLOBAL_UNICAST_6));

const NAT64 = ipaddr.parseCIDR("64:ff9b::/96");

/** An IPv4 address that is carried in IPv6 (mapped, RFC 4291; behind NAT64, RFC 6052) is judged as itself. */
function canonical(address: Address): Address {
  if (address instanceof ipaddr.IPv4) return address;
  if (address.isIPv4MappedAddress()) return address.toIPv4Address();
  return within(address, ...NAT64)
    ? ipaddr.fromByteArray(address.toByteArray().slice(12))
    : address;
}
