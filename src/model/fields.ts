// Fields that several resources share, and the marks that schemas put on their properties.
import type { TSchema, TSchemaOptions } from "typebox";
import { Type } from "./type.ts";

export const LIMITS = {
  name: 200,
  description: 4000,
  tags: 50,
  tag: 100,
  pairs: 100,
  pair: 8 * 1024,
  callBody: 512 * 1024,
  callIds: 100,
  groups: 50,
  rows: 500,
  variables: 100,
  secret: 64 * 1024,
} as const;

/** Returns a copy with more keywords. Keeps the hidden properties that its validator reads. */
export const mark = <S extends TSchema>(schema: S, keywords: object): S =>
  Object.assign(
    Object.defineProperties({}, Object.getOwnPropertyDescriptors(schema)),
    keywords,
  ) as S;

/** Set by the service, never by a body. */
export const readOnly = <S extends TSchema>(schema: S): S => mark(schema, { readOnly: true });

/** Stored, but in no body and no answer. Only for top-level properties of a document. */
export const internal = <S extends TSchema>(schema: S): S => mark(schema, { internal: true });

/** Optional on creation; defaults to `value`. */
export const withDefault = <S extends TSchema>(schema: S, value: unknown): S =>
  mark(schema, { default: value });

/** Required in updates too. */
export const requiredAlways = <S extends TSchema>(schema: S): S =>
  mark(schema, { requiredAlways: true });

/** Marks an object in which null removes a name that the user chose. */
export const namedByUser = <S extends TSchema>(schema: S): S => mark(schema, { namedByUser: true });

/** Encrypted at rest. */
export const secret = <S extends TSchema>(schema: S): S => mark(schema, { secret: true });

/** Hidden as a whole: readers who see no secrets see null instead of the object. */
export const credentials = <S extends TSchema>(schema: S): S => mark(schema, { credentials: true });

/** `date-time` in the OpenAPI document; bodies have their own checks. */
export const dateTime = <S extends TSchema>(schema: S): S => mark(schema, { dateTime: true });

export const nullable = <S extends TSchema>(schema: S, keywords: TSchemaOptions = {}) =>
  Type.Union([schema, Type.Null()], keywords);

/** Replaces, in a body, a property that the service sets. */
export const Ignored = Type.Optional(
  Type.Unknown({ readOnly: true, description: "set by the service; ignored in a body" }),
);

/** Values for the examples in the OpenAPI document. */
export const EXAMPLE = {
  id: "01k6fr5m00a2b3c4d5e6f7g8h9",
  time: "2026-10-01T12:00:00.000000Z",
  location: "local",
  domain: "api.example.com",
  url: "https://api.example.com/v1/sessions",
} as const;

export const Id = Type.String({ minLength: 1, maxLength: 100, examples: [EXAMPLE.id] });
export const Timestamp = dateTime(
  Type.String({ description: "ISO 8601, UTC, microseconds", examples: [EXAMPLE.time] }),
);
export const Name = Type.String({ minLength: 1, maxLength: LIMITS.name, examples: ["Sign in"] });
export const Owner = Type.String({ examples: ["ann"] });
export const Org = nullable(Type.String({ examples: ["shop"] }));
export const Hostname = Type.String({ examples: [EXAMPLE.domain] });
/** A location id, or `""` for the default location. */
export const LocationRef = Type.String({ maxLength: 100, examples: [EXAMPLE.location] });
export const Description = withDefault(
  nullable(Type.String({ maxLength: LIMITS.description })),
  null,
);
export const Tags = withDefault(
  Type.Array(Type.String({ maxLength: LIMITS.tag }), { maxItems: LIMITS.tags }),
  [],
);
export const Link = withDefault(nullable(Type.String({ maxLength: LIMITS.description })), null);
export const Flag = withDefault(Type.Boolean(), false);

const Pair = Type.Object(
  {
    key: Type.String({ maxLength: LIMITS.pair, examples: ["page"] }),
    value: Type.String({ maxLength: LIMITS.pair, examples: ["1"] }),
  },
  { additionalProperties: false },
);
export const PairList = Type.Array(Pair, { maxItems: LIMITS.pairs });
export const Pairs = withDefault(PairList, []);

const fitsKib =
  (kib: number) =>
  (value: unknown): boolean =>
    JSON.stringify(value).length <= kib * 1024;

const tooLarge = (kib: number) => ({
  fault: (shown: string) => `${shown} is larger than ${kib} KiB`,
});

/** Any JSON value of limited size. */
export const freeValue = (kib: number) => Type.Refine(Type.Unknown(tooLarge(kib)), fitsKib(kib));

/** An object with any content, of limited size. */
export const freeForm = (kib: number) =>
  Type.Refine(Type.Record(Type.String(), Type.Unknown(), tooLarge(kib)), fitsKib(kib));

export interface KeyValue {
  readonly key: string;
  readonly value: string;
}

/** The part of `meta` that every resource has. */
export const OWNERSHIP = {
  owner: readOnly(Owner),
  created: readOnly(Timestamp),
  last_update: readOnly(Timestamp),
};

/** The `meta` of resources that have just a name. */
export const NamedMeta = Type.Object(
  { name: Name, description: Description, tags: Tags, ...OWNERSHIP },
  { additionalProperties: false },
);

/** Who may read it, apart from its owner. */
export const Access = Type.Object({ public: Flag, org: Flag }, { additionalProperties: false });
