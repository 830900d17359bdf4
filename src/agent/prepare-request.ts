// From a tick's call to the request with its variables filled in and its credentials added, or why there is none.
import { createMask } from "../model/mask.ts";
import type { Authorization } from "../model/authorization.ts";
import type { KeyValue } from "../model/fields.ts";
import type { Tick, TickCall } from "../model/tick.ts";
import { scopeOf } from "../model/variable-scope.ts";
import type { CallFacts } from "../model/variable-scope.ts";
import {
  createExpansion,
  landingOfBody,
  VariableFault,
} from "../model/variables.ts";
import type { Expansion } from "../model/variables.ts";
import {
  authorize,
  credentialFault,
  manualPairs,
} from "./authorize/authorize.ts";
import { buildRequest } from "./build-request.ts";
import type { HttpRequest } from "./http-request.ts";

export interface Preparation {
  readonly version: string;
  /** Epoch milliseconds. */
  readonly now: number;
  /** A random UUID, another one each time. */
  readonly newGuid: () => string;
}

/** Messages are for the user, and hold no secret. */
export type Prepared = {
  /** Hides the secrets of this call in a text. */
  readonly mask: (text: string) => string;
} & (
  | {
      readonly request: HttpRequest;
      /** What is worth saying though the call can be made. */
      readonly note: string | null;
    }
  | {
      readonly result: "UNABLE_TO_RUN" | "SKIPPED";
      readonly message: string;
    }
);

export async function prepareRequest(
  tick: Tick,
  call: TickCall,
  preparation: Preparation,
): Promise<Prepared> {
  const authorization = call.authorization ?? null;
  const fault =
    authorization && credentialFault(authorization, preparation.now);
  if (fault) return { result: "SKIPPED", message: fault, mask: asItIs };
  const expansion = createExpansion(scopeFor(tick, call, preparation));
  const built = await build(call, expansion, preparation);
  const mask = createMask([
    ...expansion.secrets,
    ...credentialsOf(authorization),
  ]);
  const note = noteOf(expansion);
  if ("request" in built) return { request: built.request, note, mask };
  const message = mask([built.reason, note].filter(Boolean).join("; "));
  return { result: "UNABLE_TO_RUN", message, mask };
}

const asItIs = (text: string): string => text;

type Built = { readonly request: HttpRequest } | { readonly reason: string };

async function build(
  call: TickCall,
  expansion: Expansion,
  { version, now, newGuid }: Preparation,
): Promise<Built> {
  const authorization = call.authorization ?? null;
  const expanded = expandRequest(call, expansion);
  if (typeof expanded === "string") return { reason: expanded };
  const built = buildRequest({ ...call, request: expanded }, version);
  if ("reason" in built) return built;
  const request = withConfidential(built.request, expanded, expansion);
  if (!authorization) return { request };
  const isUsed = ownSecrets(authorization).some((value) =>
    expansion.secrets.has(value),
  );
  const nonce = newGuid().replaceAll("-", "");
  return authorize(request, authorization, { now, nonce }, isUsed);
}

function scopeFor(
  tick: Tick,
  call: TickCall,
  { now, newGuid }: Preparation,
): ReturnType<typeof scopeOf> {
  const { keys, token, settings } = call.authorization ?? {};
  let guid: string | undefined;
  const facts: CallFacts = {
    now,
    guid: () => (guid ??= newGuid()),
    result_id: call.result_id,
    run_id: tick.result_id,
    call_id: call.call_id,
    call_name: call.name,
    location_id: tick.location_id,
    workflow_id: tick.workflow?.workflow_id ?? null,
    workflow_name: tick.workflow?.name ?? null,
    client_id: keys?.client_id ?? null,
    client_secret: keys?.client_secret ?? null,
    access_token: token?.access_token ?? null,
  };
  return scopeOf(facts, {
    context: tick.context,
    environment: tick.environment ?? {},
    customVariables: customVariables(settings),
  });
}

function customVariables(
  settings: Authorization["settings"] | undefined,
): Record<string, unknown> {
  const variables = settings?.["custom_variables"];
  return typeof variables === "object" && variables !== null
    ? { ...variables }
    : {};
}

/** A token's MANUAL headers and parameters become part of the call. */
function expandRequest(
  { request, authorization = null }: TickCall,
  expansion: Expansion,
): TickCall["request"] | string {
  const manual = manualPairs(authorization);
  const pairs = (list: readonly KeyValue[]): KeyValue[] =>
    list.map(({ key, value }) => ({
      key: expansion.expand(key, "text"),
      value: expansion.expand(value, "text"),
    }));
  const hidden = (list: readonly KeyValue[]): KeyValue[] => {
    const expanded = pairs(list);
    for (const { value } of expanded) expansion.hide(value);
    return expanded;
  };
  try {
    const headers = [...pairs(request.headers), ...hidden(manual.headers)];
    const type = headers.find(({ key }) => /^content-type$/i.test(key))?.value;
    return {
      method: request.method,
      url: expansion.expand(request.url, "url"),
      parameters: [...pairs(request.parameters), ...hidden(manual.parameters)],
      headers,
      body:
        request.body &&
        expansion.expand(request.body, landingOfBody(request.body, type)),
    };
  } catch (cause) {
    if (cause instanceof VariableFault) return cause.message;
    throw cause;
  }
}

/** Headers and a body that a secret was filled into go to no other host. */
function withConfidential(
  request: HttpRequest,
  { headers, body }: TickCall["request"],
  { secrets }: Expansion,
): HttpRequest {
  if (secrets.size === 0) return request;
  const holding = headers.filter(({ key, value }) =>
    [...secrets].some(
      (secret) =>
        secret !== "" && (key.includes(secret) || value.includes(secret)),
    ),
  );
  const mask = createMask(secrets);
  return {
    ...request,
    confidential: {
      headers: holding.map(({ key }) => key.toLowerCase()),
      body: body !== null && mask(body) !== body,
    },
  };
}

/** What of a setting and its token variables may stand for. */
const ownSecrets = (authorization: Authorization): string[] => [
  ...credentialsOf(authorization),
  ...present([authorization.keys.client_id]),
  ...Object.values(customVariables(authorization.settings)).map(String),
];

const credentialsOf = (authorization: Authorization | null): string[] =>
  present([
    authorization?.keys.client_secret,
    authorization?.token?.access_token,
    authorization?.token?.token_secret,
  ]);

const present = (values: readonly (string | null | undefined)[]): string[] =>
  values.filter((value) => typeof value === "string");

function noteOf({ unknown }: Expansion): string | null {
  if (unknown.size === 0) return null;
  const names = [...unknown].slice(0, 10).map((name) => name.slice(0, 100));
  const more = unknown.size > 10 ? ` and ${unknown.size - 10} more` : "";
  return `unknown_variable: ${names.join(", ")}${more} ${unknown.size === 1 ? "has" : "have"} no value`;
}
