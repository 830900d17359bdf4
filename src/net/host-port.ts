// The host and port to dial.

export interface HostPort {
  /** A name or an IP address, without brackets. */
  readonly host: string;
  readonly port: number;
}

const withoutBrackets = (host: string): string => host.replace(/^\[|\]$/g, "");

/** Splits `host:port`, where an IPv6 address is in brackets. */
export function splitHostPort(text: string): HostPort {
  const colon = text.lastIndexOf(":");
  return { host: withoutBrackets(text.slice(0, colon)), port: Number(text.slice(colon + 1)) };
}

/** Those of an http or https URL. */
export const hostPortOf = ({ hostname, port, protocol }: URL): HostPort => ({
  host: withoutBrackets(hostname),
  port: Number(port || (protocol === "https:" ? 443 : 80)),
});
