// The server certificate of an https call, as results show it.
import type { Static } from "typebox";
import { dateTime, EXAMPLE } from "./fields.ts";
import { Type } from "./type.ts";

const Time = dateTime(Type.String({ description: "ISO 8601, UTC", examples: [EXAMPLE.time] }));

export const CertificateSchema = Type.Object({
  issuer: Type.String({ examples: ["CN=Example CA"] }),
  subject: Type.String({ examples: ["CN=api.example.com"] }),
  valid_from: Time,
  expiry: Time,
  days: Type.Integer({
    description: "from the call to the expiry; negative after it",
    examples: [90],
  }),
});
export type Certificate = Static<typeof CertificateSchema>;
