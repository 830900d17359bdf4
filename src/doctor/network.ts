// The network of calls from this machine: allowed targets, name servers, and the hosts that
// distinguish a broken network from a broken target.
import { Resolver } from "node:dns/promises";
import { parseEgressEntry } from "../model/egress-entry.ts";
import { isMetadataAddress } from "../net/egress.ts";
import { reach } from "../net/reach.ts";
import { createHostResolver } from "../net/resolve-host.ts";
import type { HostResolver } from "../net/resolve-host.ts";
import { codeOrText } from "../runtime/error-code.ts";
import type { Check } from "./check.ts";
import type { Finding } from "./finding.ts";
import { failure, ok, skipped, warning } from "./finding.ts";
import { needAgent } from "./sources.ts";
import type { Sources } from "./sources.ts";

export const egressCheck = ({ config }: Sources): Check => ({
  name: "egress",
  needs: ["egressAllow", "roles"],
  async run() {
    needAgent(config);
    return egressFindings(config.egressAllow);
  },
});

function egressFindings(entries: readonly string[]): Finding[] {
  const found = entries.flatMap((entry) =>
    (parseEgressEntry(entry) ?? []).flatMap(({ network, prefix }) => {
      const address = network.toString();
      if (prefix === 0)
        return warning(
          `SONDE_EGRESS_ALLOW opens every private address (${entry})`,
          "name the ranges that calls need, such as 10.1.0.0/16",
        );
      if (isMetadataAddress(address))
        return warning(
          `SONDE_EGRESS_ALLOW opens ${entry}, where a cloud serves this machine's credentials to anyone who can make calls`,
          "remove the entry, unless everyone who can make calls may have those credentials",
        );
      return [];
    }),
  );
  if (found.length > 0) return found;
  return [
    ok(
      entries.length === 0
        ? "calls reach public addresses only"
        : `calls reach public addresses, and ${entries.join(", ")}`,
    ),
  ];
}

/** RFC 6761 section 6.4: no such name exists, so any name server answers at once. */
const PROBE = "doctor.sonde.invalid";
const DNS_WITHIN_MS = 3000;
const ANSWERS: readonly string[] = ["ENOTFOUND", "ENODATA"];

export const namesCheck = ({ config }: Sources): Check => ({
  name: "names",
  needs: ["roles"],
  async run() {
    needAgent(config);
    const servers = new Resolver().getServers();
    const answers = await Promise.all(
      servers.map(async (server) => ({ server, code: await ask(server) })),
    );
    return nameServerFindings(answers);
  },
});

/** Returns the code of the server's answer, or of its failure. */
async function ask(server: string): Promise<string> {
  const resolver = new Resolver({ timeout: DNS_WITHIN_MS, tries: 1 });
  resolver.setServers([server]);
  try {
    await resolver.resolve4(PROBE);
    return "ENOTFOUND"; // a server that invents addresses answers, too
  } catch (cause) {
    return codeOrText(cause);
  }
}

export function nameServerFindings(
  answers: readonly { readonly server: string; readonly code: string }[],
): Finding[] {
  const silent = answers.filter(({ code }) => !ANSWERS.includes(code));
  if (silent.length === 0 && answers.length > 0)
    return [ok(`the name servers answer (${answers.map(({ server }) => server).join(", ")})`)];
  const list = silent.map(({ server, code }) => `${server}: ${code}`).join(", ");
  const advice = "correct /etc/resolv.conf, or the network of this machine";
  if (silent.length < answers.length)
    return [warning(`not all name servers answer (${list}), which delays calls`, advice)];
  return [
    warning(
      `no name server answers (${list || "none is configured"}): calls to host names fail, unless the hosts file has them`,
      advice,
    ),
  ];
}

/** Asks as an agent here does, before it blames a target. */
export const uplinkCheck = (
  { config, clock }: Pick<Sources, "config" | "clock">,
  hosts: readonly string[],
): Check => ({
  name: "uplink",
  needs: ["uplinkCheck", "natsUrls", "roles"],
  async run() {
    needAgent(config);
    if (hosts.length === 0)
      return [
        skipped(
          "SONDE_UPLINK_CHECK names no host: a failure of this machine's network counts against targets",
        ),
      ];
    const resolver = createHostResolver({ clock });
    const answers = await Promise.all(
      hosts.map(async (host) => ({ host, fault: await faultOf(host, resolver) })),
    );
    return uplinkFindings(answers);
  },
});

function uplinkFindings(
  answers: readonly { readonly host: string; readonly fault: string | undefined }[],
): Finding[] {
  const silent = answers.filter(({ fault }) => fault !== undefined);
  if (silent.length === 0)
    return [ok(`the uplink hosts answer (${answers.map(({ host }) => host).join(", ")})`)];
  const list = silent.map(({ host, fault }) => `${host}: ${fault}`).join(", ");
  const advice = "correct SONDE_UPLINK_CHECK, or the network of this machine";
  return [
    silent.length < answers.length
      ? warning(`not all uplink hosts answer (${list})`, advice)
      : failure(
          `no uplink host answers (${list}): failures of calls count as uplink_down, against no target`,
          advice,
        ),
  ];
}

/** Returns why the host cannot be reached; undefined if it answers. */
const faultOf = (host: string, resolver: HostResolver): Promise<string | undefined> =>
  reach(host, resolver).then(
    () => undefined,
    (cause: NodeJS.ErrnoException) => cause.code ?? cause.message,
  );
