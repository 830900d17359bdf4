// Where this process and its hub listen: what its agent does not call, and what it looks for to know its network.
import type { Config } from "./config.ts";

const NATS_PORT = 4222;

/** `host:port` of each server. */
const natsAddresses = ({ natsUrls = [] }: Config): string[] =>
  natsUrls.map((url) => {
    const { hostname, port } = new URL(url);
    return `${hostname}:${port || NATS_PORT}`;
  });

/** What answers wherever the agent's network works; none where nobody named any and there is no hub elsewhere. */
export const uplinkCheckOf = (config: Config): readonly string[] =>
  config.uplinkCheck.length > 0 ? config.uplinkCheck : natsAddresses(config);

export interface Listeners {
  readonly ops: { readonly port: number } | undefined;
  /** As a URL. */
  readonly api: string | undefined;
}

/** Ports of Sonde on this machine. A listener has another port than configured where that is 0. */
export function ownPortsOf(config: Config, { ops, api }: Listeners): number[] {
  const nats = natsAddresses(config).map((address) =>
    Number(address.slice(address.lastIndexOf(":") + 1)),
  );
  return [
    ops?.port ?? config.opsPort,
    api === undefined ? config.port : Number(new URL(api).port),
    ...nats,
  ];
}
