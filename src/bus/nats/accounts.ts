// Writes the NATS accounts as server configuration: the hub's, with JetStream, and one per
// location, which reaches only the hub's subjects of that location.
import {
  credentialsSubject,
  heartbeatSubject,
  inboxPrefix,
  reportSubject,
  tickConsumer,
} from "./topology.ts";

/** The prefix of the consumer API in a location's account: `$JS.API` cannot be imported. */
export const LOCATION_API = "sonde.api";

export interface LocationUsers {
  readonly id: string;
  /** Public nkeys. */
  readonly users: readonly string[];
}

interface Service {
  /** In the hub's account. */
  readonly subject: string;
  /** In the location's account. */
  readonly as: string;
  readonly manyReplies?: true;
}

/**
 * Lists all services that a location's agents may call. Replies cross accounts under names chosen
 * by the server, so an agent's reply subject stays in its own account. Agents may not create
 * consumers, because a consumer may deliver to any subject.
 */
function servicesOf(id: string): Service[] {
  const { stream, durable } = tickConsumer(id);
  const consumer = `${stream}.${durable}`;
  const same = (subject: string): Service => ({ subject, as: subject });
  const api = (request: string) => ({
    subject: `$JS.API.${request}.${consumer}`,
    as: `${LOCATION_API}.${request}.${consumer}`,
  });
  return [
    same(reportSubject(id)),
    same(heartbeatSubject(id)),
    same(credentialsSubject(id)),
    api("CONSUMER.INFO"),
    { ...api("CONSUMER.MSG.NEXT"), manyReplies: true },
    same(`$JS.ACK.${consumer}.>`),
  ];
}

const HUB = "SONDE";
const accountOf = (id: string): string => `${HUB}_${id}`;

/** Returns a file for `include` in each server's configuration. `hubUsers`: public nkeys. */
export const accountsConfig = (
  hubUsers: readonly string[],
  locations: readonly LocationUsers[],
): string =>
  [
    "# Written by `sonde locations nats-config`. It holds public keys only.",
    "accounts {",
    `  "${HUB}": {`,
    "    jetstream: enabled",
    "    users: [",
    ...hubUsers.map((nkey) => `      { nkey: ${nkey} }`),
    "    ]",
    "    exports: [",
    ...locations.flatMap(({ id }) => servicesOf(id).map((service) => exported(id, service))),
    "    ]",
    "  }",
    ...locations.flatMap(locationAccount),
    "}",
    "",
  ].join("\n");

const exported = (id: string, { subject, manyReplies }: Service): string =>
  `      { service: "${subject}",${manyReplies ? " response: stream," : ""} accounts: ["${accountOf(id)}"] }`;

function locationAccount({ id, users }: LocationUsers): string[] {
  const services = servicesOf(id);
  const publish = services.map(({ as }) => `"${as}"`).join(", ");
  const permissions = `{ publish: [${publish}], subscribe: ["${inboxPrefix(id)}.>"] }`;
  return [
    `  "${accountOf(id)}": {`,
    "    users: [",
    ...users.map((nkey) => `      { nkey: ${nkey}, permissions: ${permissions} }`),
    "    ]",
    "    imports: [",
    ...services.map(
      ({ subject, as }) =>
        `      { service: { account: "${HUB}", subject: "${subject}" }, to: "${as}" }`,
    ),
    "    ]",
    "  }",
  ];
}
