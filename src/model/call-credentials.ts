// An agent's request during a run: the current credentials of one of its calls.
import type { Static } from "typebox";
import { AuthorizationSchema } from "./authorization.ts";
import { LocationId } from "./location.ts";
import { Type } from "./type.ts";
import { createValidator } from "./validate.ts";

const ResultId = Type.String({ minLength: 1, maxLength: 100 });

export const CredentialsRequestSchema = Type.Object({
  location_id: LocationId,
  run_id: ResultId,
  /** The id of the call's result. */
  result_id: ResultId,
});

/** Empty if this location has no such call in flight. */
export const CallCredentialsSchema = Type.Object({
  authorization: Type.Optional(AuthorizationSchema),
  /** Why the call can no longer be made. */
  unable: Type.Optional(Type.String()),
});

export type CredentialsRequest = Readonly<Static<typeof CredentialsRequestSchema>>;
export type CallCredentials = Readonly<Static<typeof CallCredentialsSchema>>;

export const credentialsRequestValidator = createValidator(CredentialsRequestSchema);
export const callCredentialsValidator = createValidator(CallCredentialsSchema);
