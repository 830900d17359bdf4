// Turns a tick's call into a request, with variables and credentials filled in, or says why the
// call cannot be made.
import { randomUUID } from "node:crypto";
import type { Authorization } from "../model/authorization.ts";
import { VariableFault } from "../model/encode-value.ts";
import type { KeyValue } from "../model/fields.ts";
import { createMask } from "../model/mask.ts";
import type { Tick, TickCall } from "../model/tick.ts";
import { createExpansion, landingOfBody, scopeOf } from "../model/variables.ts";
import type { CallFacts, Expansion } from "../model/variables.ts";
import { authorize, credentialFault, manualPairs } from "./authorize/authorize.ts";
import { buildRequest } from "./build-request.ts";
import { momentAt } from "./http/http-request.ts";
import type { BuiltRequest, HttpRequest } from "./http/http-request.ts";

export interface Preparation {
  readonly version: string;
  /** Epoch milliseconds. */
  readonly now: number;
}

export type Prepared =
  | {
      readonly request: HttpRequest;
      /** Secrets of this call, besides the credentials that the request itself shows. */
      readonly secrets: readonly string[];
      /** A warning for the user; the call can still be made. */
      readonly note: string | null;
    }
  | {
      readonly result: "UNABLE_TO_RUN" | "SKIPPED";
      /** Shown to the user; holds no secret. */
      readonly message: string;
    };

/** Maximum characters of a message that quotes variables; cut after masking: splits no secret. */
const MAX_MESSAGE = 2000;

export async function prepareRequest(
  tick: Tick,
  call: TickCall,
  preparation: Preparation,
): Promise<Prepared> {
  const authorization = call.authorization ?? null;
  const fault = authorization && credentialFault(authorization, preparation.now);
  if (fault) return { result: "SKIPPED", message: fault };
  const expansion = createExpansion(scopeFor(tick, call, preparation.now));
  const built = await build(call, expansion, { runId: tick.result_id, ...preparation });
  const secrets = [...expansion.secrets, ...credentialsOf(authorization)];
  const note = noteOf(expansion, secrets);
  if ("request" in built) return { request: built.request, secrets, note };
  const reason = createMask(secrets)(built.reason).slice(0, MAX_MESSAGE);
  const message = [reason, note].filter(Boolean).join("; ");
  return { result: "UNABLE_TO_RUN", message };
}

async function build(
  call: TickCall,
  expansion: Expansion,
  { runId, version, now }: Preparation & { readonly runId: string },
): Promise<BuiltRequest> {
  const { authorization } = call;
  const expanded = expandRequest(call, expansion);
  if ("reason" in expanded) return expanded;
  const { confidential } = expanded;
  const built = buildRequest({ ...call, request: expanded.request }, { runId, version });
  if ("reason" in built) return built;
  const request = { ...built.request, ...(confidential && { confidential }) };
  if (!authorization) return { request };
  const isUsed = ownSecrets(authorization).some((value) => expansion.secrets.has(value));
  return authorize(request, authorization, momentAt(now), isUsed);
}

function scopeFor(tick: Tick, call: TickCall, now: number): ReturnType<typeof scopeOf> {
  const { keys, token, settings } = call.authorization ?? {};
  let guid: string | undefined;
  const facts: CallFacts = {
    now,
    guid: () => (guid ??= randomUUID()),
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

function customVariables(settings: Authorization["settings"] | undefined): Record<string, unknown> {
  const variables = settings?.["custom_variables"];
  return typeof variables === "object" && variables !== null ? { ...variables } : {};
}

type ExpandedRequest =
  | {
      readonly request: TickCall["request"];
      readonly confidential: HttpRequest["confidential"];
    }
  | { readonly reason: string };

/** The headers and parameters of a MANUAL token become part of the call. */
function expandRequest(
  { request, authorization }: TickCall,
  expansion: Expansion,
): ExpandedRequest {
  const manual = manualPairs(authorization);
  const pairs = (list: readonly KeyValue[]): ExpandedPair[] =>
    list.map((pair) => expandPair(pair, expansion));
  const secretPairs = (list: readonly KeyValue[]): ExpandedPair[] =>
    pairs(list).map((pair) => {
      expansion.hide(pair.value);
      return { ...pair, isSecret: true };
    });
  try {
    const headers = [...pairs(request.headers), ...secretPairs(manual.headers)];
    const url = expansion.expand(request.url, "url").text;
    const parameters = [...pairs(request.parameters), ...secretPairs(manual.parameters)];
    const body = request.body
      ? expansion.expand(request.body, landingOfBody(request.body, contentTypeOf(headers)))
      : { text: request.body, isSecret: false };
    return {
      request: { ...request, url, parameters, headers, body: body.text },
      confidential: confidentialOf(headers, body.isSecret),
    };
  } catch (cause) {
    if (cause instanceof VariableFault) return { reason: cause.message };
    throw cause;
  }
}

interface ExpandedPair extends KeyValue {
  readonly isSecret: boolean;
}

function expandPair(pair: KeyValue, expansion: Expansion): ExpandedPair {
  const key = expansion.expand(pair.key, "text");
  const value = expansion.expand(pair.value, "text");
  const isSecret = key.isSecret || value.isSecret;
  return { key: key.text, value: value.text, isSecret };
}

const contentTypeOf = (headers: readonly KeyValue[]): string | undefined =>
  headers.find(({ key }) => /^content-type$/i.test(key))?.value;

/** Headers and a body that contain a secret are sent to no other host. */
function confidentialOf(
  headers: readonly ExpandedPair[],
  isBodySecret: boolean,
): HttpRequest["confidential"] {
  const secret = headers.filter(({ isSecret }) => isSecret);
  return secret.length > 0 || isBodySecret
    ? { headers: secret.map(({ key }) => key.toLowerCase()), body: isBodySecret }
    : undefined;
}

/** All possible values of the variables of a setting and its token. */
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

/** A secret of the setting that looks like a reference stays masked. */
function noteOf({ unknown }: Expansion, secrets: readonly string[]): string | null {
  if (unknown.size === 0) return null;
  const mask = createMask(secrets);
  const names = [...unknown].slice(0, 10).map((name) => mask(name).slice(0, 100));
  const more = unknown.size > 10 ? ` and ${unknown.size - 10} more` : "";
  return `unknown_variable: ${names.join(", ")}${more} ${unknown.size === 1 ? "has" : "have"} no value`;
}
