// Explains each result and what to check, for newcomers.
import type { MissedCode } from "../../src/model/missed.ts";
import type { ResultCode } from "../../src/model/result.ts";

export interface Outcome {
  /** What happened. */
  readonly meaning: string;
  /** What to look at next. */
  readonly check: string;
}

export const OUTCOMES: Readonly<Record<ResultCode, Outcome>> = {
  COMPLETE: {
    meaning: "The server answered as it should.",
    check: "Nothing to do. If it is slow, look at the longest phase.",
  },
  HTTP_REDIRECT_ERROR: {
    meaning: "The server redirected the call, and Sonde did not follow it to the end.",
    check:
      "Call the final URL, or look at the redirects below: the tags noredirect and max-redirects decide how many are followed.",
  },
  HTTP_CLIENT_ERROR: {
    meaning: "The server refused the request (a status from 400 to 499).",
    check:
      "Compare the request below with what the server expects: path, headers, body, credentials. With 401 or 403, look at the token; with 429, call less often.",
  },
  HTTP_SERVER_ERROR: {
    meaning: "The server failed to answer the request (a status of 500 or more).",
    check: "Check the server's log for this time; the response below may name the cause.",
  },
  CONNECTION_ERROR: {
    meaning:
      "No complete response: the name lookup, connection, TLS handshake or response failed, or the time limit was reached.",
    check:
      "The last phase in the waterfall is where it ended. The message says why: check whether other locations are affected.",
  },
  QUEUED: {
    meaning: "The run was queued and has not ended yet.",
    check: "Wait a moment: this page updates itself.",
  },
  PROCESSING: {
    meaning: "The run is in progress.",
    check: "Wait a moment: this page updates itself.",
  },
  SKIPPED: {
    meaning:
      "The call was not made: an earlier step ended its workflow, or a credential had expired.",
    check: "Look at the steps before this one, or renew the token.",
  },
  UNABLE_TO_RUN: {
    meaning: "The call could not be turned into a request, or its target is not allowed.",
    check:
      "The message names what is wrong: correct the call's definition, its variables or rights, or have the agent's operator allow the target.",
  },
  AGENT_ERROR: {
    meaning: "The agent itself failed, or its own network did. This says nothing about the target.",
    check: "Look at the location's agents and their logs.",
  },
  MISSED: {
    meaning: "The run was due, but no agent made it in time. This says nothing about the target.",
    check: "The message says why. Check that the location has an agent online.",
  },
};

const MISSED_REMEDIES: Readonly<Record<MissedCode, string>> = {
  started_late:
    "Start more agents at this location. If the agent got the run too late, look for an outage of the hub or of the agents.",
  still_running: "Run it less often, or shorten the workflow.",
  deployed_late: "Nothing to do: the deployment was saved too late for this run.",
  scheduler_down: "Look at the scheduler's log.",
  hub_unreachable: "Look at the scheduler's log, and at NATS.",
  bus_full: "Start agents, or raise SONDE_NATS_TICKS_MIB.",
  no_agent: "Start an agent at this location.",
  agent_offline: "Start an agent at this location, or find out why its agents stopped.",
  agent_lost: "The agent stopped during the run: look at its log.",
  agents_draining: "Start another agent, or stop draining.",
  agents_incompatible: "Update the agents of this location.",
};

/** What to do, by the code that a message begins with. */
export const REMEDIES: Readonly<Record<string, string>> = {
  dns_not_found: "Check the host name, and that it resolves where the agent runs.",
  dns_timeout: "The name servers did not answer: check whether other calls fail there.",
  dns_failure: "The name servers failed: check whether other calls fail there.",
  connect_refused: "Nothing listens on this port: check that the service is running.",
  connect_timeout: "The address does not answer: check the firewall and the route.",
  connect_unreachable: "The agent has no route there, such as to IPv6 from an IPv4 network.",
  tls_expired: "Renew the server's certificate.",
  tls_not_yet_valid: "Check the certificate's dates, and the clock of the agent's machine.",
  tls_name_mismatch: "The certificate is for another host: check the URL, or the certificate.",
  tls_self_signed: "Use a certificate from a known authority, or the tag insecure-tls.",
  tls_untrusted: "Check the server's chain: an intermediate certificate may be missing or expired.",
  tls_client_certificate: "Set the client certificate in the authentication setting.",
  tls_protocol: "No common TLS version or cipher, or the port does not speak TLS.",
  reset: "The server closed the connection early: check its log for this time.",
  timeout: "The message says how far the call got. The tag timeout:<seconds> allows up to 120.",
  malformed_response:
    "The response is not HTTP/1.1, or its body does not match its Content-Encoding.",
  too_large: "The response is larger than an agent accepts: request less data.",
  redirect_not_followed:
    "Call the URL in the Location header, or remove the tag noredirect. After a 304, remove the header that makes the call conditional.",
  too_many_redirects: "Look for a loop in the redirects, or raise max-redirects.",
  redirect_invalid: "The Location header has no valid target.",
  egress_refused: "The agent's operator must allow this address (SONDE_EGRESS_ALLOW).",
  request_invalid: "Correct the port, or the client certificate of the setting.",
  uplink_down: "The agent's own network was down: check that network.",
  agent_error: "Look at the agent's log.",
  unknown_variable: "Set the variable, or correct its name in the call.",
  credential_withheld: "Update the token to let it follow its changed setting.",
  credential_expired: "Open the token: it says why its last renewal failed.",
  credential_missing: "Open the token: it says why its last renewal failed.",
  not_reached: "An earlier call ended the workflow: look at that one.",
  workflow_timeout: "Use fewer calls, or a shorter timeout for the slow ones.",
  ...MISSED_REMEDIES,
};

/** Returns the most precise advice there is; a message is `code: what happened`. */
export function adviceFor(result: ResultCode, message: string | null): string {
  const code = /^[a-z_]+(?=:|$)/.exec(message ?? "")?.[0];
  const remedy = code !== undefined && Object.hasOwn(REMEDIES, code) ? REMEDIES[code] : undefined;
  return remedy ?? OUTCOMES[result].check;
}
