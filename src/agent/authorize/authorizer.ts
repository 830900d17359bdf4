// What the authentication types share: a request that is built goes in, the same with its
// credentials comes out.
import type { Authorization } from "../../model/authorization.ts";
import type { BuiltRequest, HttpRequest, Moment } from "../http/http-request.ts";

export type Authorizer = (
  request: HttpRequest,
  authorization: Authorization,
  moment: Moment,
) => BuiltRequest | Promise<BuiltRequest>;

/**
 * In the place of any header of that name. The value is one character for each byte, and is kept
 * from other hosts.
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

/** The text of the first header of that name. */
export function headerOf(
  { headers }: Pick<HttpRequest, "headers">,
  name: string,
): string | undefined {
  const found = headers.find(({ key }) => key.toLowerCase() === name);
  return found && Buffer.from(found.value, "latin1").toString();
}
