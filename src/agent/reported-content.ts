// The body of a response on its way into a report: secrets masked.
import type { Content } from "../model/content.ts";
import { MASK } from "../model/mask.ts";

type Mask = (text: string) => string;

export const maskedContent = (content: Content | null, mask: Mask): Content | null =>
  content && {
    ...content,
    content_type: content.content_type && mask(content.content_type),
    content: content.content && maskMembers(mask(content.content)),
  };

// What token servers answer with (RFC 6749 section 5.1), and what nobody means to show.
const SECRET_MEMBER =
  /("(?:access_token|refresh_token|id_token|client_secret|password)"\s*:\s*")(?:[^"\\]|\\.)*"/gi;

const maskMembers: Mask = (text) =>
  text.replace(SECRET_MEMBER, (_, before: string) => `${before}${MASK}"`);
