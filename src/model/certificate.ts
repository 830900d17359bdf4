// What a result says of the certificate that the server of an https call showed.
import { Type } from "typebox";
import type { Static } from "typebox";

export const CertificateSchema = Type.Object({
  issuer: Type.String(),
  subject: Type.String(),
  valid_from: Type.String({ description: "ISO 8601, UTC" }),
  expiry: Type.String({ description: "ISO 8601, UTC" }),
  days: Type.Integer({
    description: "from the call to the expiry; negative where it had passed",
  }),
});
export type Certificate = Static<typeof CertificateSchema>;
