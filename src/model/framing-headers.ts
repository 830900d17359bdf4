// The headers that frame a request. Only the agent sets them: a definition could otherwise smuggle
// in a second request.
const FRAMING_HEADERS = new Set([
  "content-length",
  "transfer-encoding",
  "connection",
  "upgrade",
  "te",
  "trailer",
  "keep-alive",
  "proxy-connection",
  "expect",
]);

export const isFramingHeader = (name: string): boolean => FRAMING_HEADERS.has(name.toLowerCase());
