// What the authentication types share: a request that is built goes in, the same with its credentials comes out.
import type { Authorization } from "../../model/authorization.ts";
import type { HttpRequest } from "../build-request.ts";

/** What a signature takes from the moment that it is made. */
export interface Moment {
  /** Epoch milliseconds. */
  readonly now: number;
  /** Never used twice; letters and digits. */
  readonly nonce: string;
}

/** A reason is a sentence for the user, and holds no credential. */
export type Authorized =
  { readonly request: HttpRequest } | { readonly reason: string };

export type Authorizer = (
  request: HttpRequest,
  authorization: Authorization,
  moment: Moment,
) => Authorized | Promise<Authorized>;

/** In the place of any header of that name. The value is one character for each byte, and is kept from other hosts. */
export function withCredential(
  request: HttpRequest,
  key: string,
  value: string,
): HttpRequest {
  const name = key.toLowerCase();
  const others = request.headers.filter(
    (header) => header.key.toLowerCase() !== name,
  );
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
