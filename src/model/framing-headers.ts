// The headers that frame a request. They are the agent's: with these, a definition could smuggle a
// second request.
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
