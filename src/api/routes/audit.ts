// The audit trail of the caller's owner.
import { isOwner, ownedBy } from "../../model/access.ts";
import type { Actor } from "../../model/access.ts";
import { EXAMPLE, Id, mark, nullable, Org, Owner, Timestamp } from "../../model/fields.ts";
import { formatInstant } from "../../model/instant.ts";
import { AUDIT_ACTIONS } from "../../model/audit.ts";
import type { StoredAuditEntry } from "../../model/audit.ts";
import { Type } from "../../model/type.ts";
import type { ApiKey } from "../../store/records.ts";
import { defineEndpoint, named } from "../endpoint.ts";
import type { Endpoint, EndpointDeps } from "../endpoint.ts";
import { listOf, toPage } from "../http/paging.ts";
import { assertRange, bound, choice, LIST_PAGING } from "../http/parameters.ts";
import { AccessLevelSchema, KeyName } from "./api-keys.ts";

const Name = nullable(Owner);

const AuditKey = nullable(
  Type.Object({ name: KeyName, access_level: AccessLevelSchema, revoked: Type.Boolean() }),
);

const EntrySchema = named(
  "AuditEntry",
  Type.Object({
    id: Id,
    time: Timestamp,
    actor: nullable(
      Type.String({
        description:
          "id of the key that acted, or `command line`, `first start` or `demo`; null for another owner's action",
        examples: [EXAMPLE.id],
      }),
    ),
    actor_key: mark(AuditKey, { description: "the actor, if it is a key that still exists" }),
    owner: mark(Name, { description: "on whose behalf" }),
    org: mark(Org, { description: "that owner's organization" }),
    address: nullable(
      Type.String({
        description:
          "where the request came from; null without a request, and for another owner's action",
        examples: ["198.51.100.7"],
      }),
    ),
    action: Type.Enum([...AUDIT_ACTIONS]),
    kind: Type.String({ description: "the object affected", examples: ["call"] }),
    object_id: Type.String({ examples: [EXAMPLE.id] }),
    object_key: mark(AuditKey, { description: "the object, if it is a key that still exists" }),
    object_owner: mark(Name, { description: "the object's owner, if that is someone else" }),
    object_org: mark(Org, { description: "that owner's organization" }),
    fields: Type.Array(Type.String(), {
      description: "paths that an update changed, never their values",
      examples: [["meta.name"]],
    }),
  }),
);

export const auditEndpoints = ({ store, cursors }: EndpointDeps): Endpoint[] => [
  defineEndpoint({
    operationId: "listAudit",
    methods: ["GET"],
    path: "/audit/",
    tag: "Audit",
    summary: "List who changed your objects, when and from where",
    description:
      "Entries on behalf of the owner of the key, and about the owner's objects. Newest first, unlike other lists. Failed sign-ins, and commands that act for no owner, are only in `sonde audit list`.",
    level: "OWNER",
    query: {
      order: choice("newest (desc) or oldest (asc) first", ["desc", "asc"], "desc"),
      from: bound("not before this time"),
      to: bound("before this time"),
      ...LIST_PAGING,
    },
    answer: listOf(EntrySchema),
    async handle({ principal, query, scope }) {
      const { cursor, limit, order, from, to } = query;
      assertRange(query);
      const [time, id] = cursors.decode(scope(), cursor) ?? [];
      const after = time === undefined ? undefined : { time: Number(time), id: String(id) };
      const page = { of: principal, order, after, from, to, limit: limit + 1 };
      const { meta, items } = toPage(await store.audit.page(page), limit, (last) =>
        cursors.encode(scope(), [last.time, last.id]),
      );
      const keys = await store.apiKeys.getMany(items.flatMap(keyIdsIn));
      return { meta, results: items.map((entry) => toAnswer(entry, principal, keys)) };
    },
  }),
];

const keyIdsIn = ({ actor, kind, object_id }: StoredAuditEntry): string[] =>
  kind === "api_key" ? [actor, object_id] : [actor];

/** Hides the key and the address of someone else's action. */
function toAnswer(entry: StoredAuditEntry, reader: Actor, keys: ReadonlyMap<string, ApiKey>) {
  const { object_owner = null, object_org = null } = entry;
  const isOwn = entry.owner === reader.owner && entry.org === reader.org;
  const [actorKey, objectKey] = keyIdsIn(entry).map((id) => keys.get(id));
  return {
    ...entry,
    time: formatInstant(entry.time),
    actor: isOwn ? entry.actor : null,
    actor_key: shownKey(actorKey, reader),
    address: isOwn ? entry.address : null,
    object_key: shownKey(objectKey, reader),
    object_owner,
    object_org,
  };
}

function shownKey(key: ApiKey | undefined, reader: Actor) {
  if (!key || !isOwner(reader, ownedBy(key))) return null;
  const { name, access_level, revoked } = key;
  return { name, access_level, revoked };
}
