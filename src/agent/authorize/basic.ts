// BASIC: RFC 7617, with the user-id and password in UTF-8.
import type { Authorizer } from "./authorizer.ts";
import { withCredential } from "./authorizer.ts";

export const authorizeBasic: Authorizer = (request, { keys }) => {
  const { client_id: user, client_secret: password } = keys;
  if (!user && !password) return { reason: "the authentication setting has no keys" };
  if (user?.includes(":"))
    return {
      reason: "the client_id has a colon, which Basic authentication forbids",
    };
  const pair = `${user ?? ""}:${password ?? ""}`;
  if (/\p{Cc}/u.test(pair))
    return {
      reason: "the keys have a control character, which Basic authentication forbids",
    };
  const credentials = Buffer.from(pair).toString("base64");
  return {
    request: withCredential(request, "Authorization", `Basic ${credentials}`),
  };
};
