// What the authentication types share: the function that adds credentials to a built request.
import type { Authorization } from "../../model/authorization.ts";
import type { BuiltRequest, HttpRequest, Moment } from "../http/http-request.ts";

export type Authorizer = (
  request: HttpRequest,
  authorization: Authorization,
  moment: Moment,
) => BuiltRequest | Promise<BuiltRequest>;

/**
 * Replaces any header of that name, and marks it as confidential. The value has one character per
 * byte.
 */
export function withCredential(request: HttpRequest, key: string, value: string): HttpRequest {
  const name = key.toLowerCase();
  const others = request.headers.filter((header) => header.key.toLowerCase() !== name);
  const { headers = [], body = false } = request.confidential ?? {};
  return {
    ...request,
    headers: [...others, { key, value }],
    confidential: { headers: [...headers, name], body },
  };
}
