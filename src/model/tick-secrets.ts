// The part of a tick that is sealed where it leaves the process: environment values and
// credentials.
import { Type } from "typebox";
import type { Static } from "typebox";
import { AuthorizationSchema } from "./authorization.ts";
import type { Tick } from "./tick.ts";
import { createValidator } from "./validate.ts";

const TickSecretsSchema = Type.Object({
  environment: Type.Optional(Type.Record(Type.String(), Type.String())),
  /** By the `result_id` of the call. */
  authorizations: Type.Record(Type.String(), AuthorizationSchema),
});

export type TickSecrets = Static<typeof TickSecretsSchema>;

export const tickSecretsValidator = createValidator(TickSecretsSchema);

/** What its secrets are sealed for: they open in no other tick, and at no other location. */
export const placeOf = ({ location_id, result_id }: Tick): string =>
  `tick/${location_id}/${result_id}`;

/** Undefined where the tick has none. */
export function secretsOf({ environment, calls }: Tick): TickSecrets | undefined {
  const authorizations = Object.fromEntries(
    calls.flatMap(({ result_id, authorization }) =>
      authorization ? [[result_id, authorization]] : [],
    ),
  );
  const hasValues = Object.keys(environment ?? {}).length > 0;
  return hasValues || Object.keys(authorizations).length > 0
    ? { authorizations, ...(environment && { environment }) }
    : undefined;
}

export function withoutSecrets(tick: Tick): Tick {
  const { environment: _environment, calls, ...rest } = tick;
  return {
    ...rest,
    calls: calls.map(({ authorization: _authorization, ...call }) => call),
  };
}

/** The tick with its opened secrets in their places. */
export function withSecrets(tick: Tick, { environment, authorizations }: TickSecrets): Tick {
  const { sealed: _sealed, ...rest } = tick;
  return {
    ...rest,
    ...(environment && { environment }),
    calls: tick.calls.map((call) => {
      const authorization = authorizations[call.result_id];
      return authorization ? { ...call, authorization } : call;
    }),
  };
}
