// The headers that frame a request, which only the agent sets: with them, a definition could
// smuggle in a second request.
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
