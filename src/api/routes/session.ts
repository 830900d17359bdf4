// Opens, shows and closes the session of the web pages: a cookie instead of a key.
import type { Principal } from "../../model/access.ts";
import { Id, Org, Owner } from "../../model/fields.ts";
import { Type } from "../../model/type.ts";
import { createValidator } from "../../model/validate.ts";
import { StatusSchema } from "../crud.ts";
import { defineEndpoint, named } from "../endpoint.ts";
import type { Endpoint, Reply } from "../endpoint.ts";
import { closeSession, openSession } from "../sessions.ts";
import { AccessLevelSchema } from "./api-keys.ts";

const common = { path: "/session/", tag: "Session", level: "VIEWER" } as const;

const SignInBody = Type.Object({}, { additionalProperties: false });
const signInBody = createValidator(SignInBody);

const SessionSchema = named(
  "Session",
  Type.Object({
    key_id: Id,
    owner: Owner,
    org: Org,
    access_level: AccessLevelSchema,
    has_session: Type.Boolean({ description: "false where the request came with a key" }),
  }),
);

export const sessionEndpoints = (): Endpoint[] => [
  defineEndpoint({
    ...common,
    operationId: "signIn",
    methods: ["POST"],
    summary: "Open a session, as the owner and with the level of the key",
    description:
      "The answer sets a cookie, HttpOnly and SameSite=Strict, that replaces the key in later requests. A one-time code, such as the one in the link that `serve --demo` prints, can replace the key. The session ends when it is idle for too long (`SONDE_SESSION_IDLE`), after 30 days, or with the key.",
    acceptsCode: true,
    body: SignInBody,
    status: [201],
    answer: SessionSchema,
    headers: {
      "Set-Cookie": {
        description:
          "the session's cookie; over https its name is `__Host-sonde`, and it is Secure",
        example: "sonde=secret; Max-Age=2592000; Path=/; HttpOnly; SameSite=Strict",
      },
    },
    handle({ principal, body, change }) {
      signInBody.parse(body);
      return change(async (store, audit): Promise<Reply> => {
        await audit("issue", "session", principal.key_id);
        const session = await openSession(store, principal.key_id);
        return { status: 201, answer: toAnswer(principal, true), session };
      });
    },
  }),
  defineEndpoint({
    ...common,
    operationId: "getSession",
    methods: ["GET"],
    summary: "Show the caller: the owner and the level of the key or session",
    answer: SessionSchema,
    handle: async ({ principal, session }) => toAnswer(principal, session !== undefined),
  }),
  defineEndpoint({
    ...common,
    operationId: "signOut",
    methods: ["DELETE"],
    summary: "Close the session that the request came with",
    status: [200],
    answer: StatusSchema,
    headers: {
      "Set-Cookie": {
        description: "removes the session's cookie",
        example: "sonde=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict",
      },
    },
    handle: ({ principal, session, change }) =>
      change(async (store, audit): Promise<Reply> => {
        if (session !== undefined) {
          await closeSession(store, session);
          await audit("revoke", "session", principal.key_id);
        }
        return { status: 200, answer: { status: "OK" }, session: null };
      }),
  }),
];

const toAnswer = ({ key_id, owner, org, access_level }: Principal, has_session: boolean) => ({
  key_id,
  owner,
  org,
  access_level,
  has_session,
});
