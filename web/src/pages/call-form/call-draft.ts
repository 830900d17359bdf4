// A call as its form edits it, and the body that saves it.
import type { Role } from "../../../../src/model/access.ts";
import type { Call } from "../../../../src/model/call.ts";
import { SIMULATED_TAG } from "../../../../src/model/simulated.ts";
import type { CurlRequest } from "../../curl/curl.ts";
import { toPairs, toRows } from "../../rows.ts";
import type { Row } from "../../rows.ts";

export interface CallDraft {
  readonly name: string;
  readonly description: string | null;
  readonly tags: readonly string[];
  readonly access: Call["access"];
  readonly method: string;
  readonly url: string;
  readonly parameters: readonly Row[];
  readonly headers: readonly Row[];
  readonly body: string | null;
  readonly auth_id: string | null;
  readonly token_id: string | null;
  /** From a cURL command; stored in a new Authentication Setting when the call is saved. */
  readonly basic: CurlRequest["basic"];
}

const NEW_DRAFT: CallDraft = {
  name: "",
  description: null,
  tags: [],
  access: { settings: false, results: false, stats: false, org: false },
  method: "GET",
  url: "",
  parameters: [],
  headers: [],
  body: null,
  auth_id: null,
  token_id: null,
  basic: null,
};

export const draftOf = (call?: Call): CallDraft => (call ? storedDraft(call) : NEW_DRAFT);

const storedDraft = ({ meta, access, request }: Call): CallDraft => ({
  name: meta.name,
  description: meta.description,
  tags: meta.tags,
  access,
  method: request.method,
  url: request.url,
  parameters: toRows(request.parameters),
  headers: toRows(request.headers),
  body: request.body,
  auth_id: request.auth_id,
  token_id: request.token_id,
  basic: null,
});

/** Returns the draft of a new call like `call`; of another owner's, without token and sharing. */
export const copyOf = (call: Call, role: Role): CallDraft => ({
  ...draftOf(call),
  ...(role !== "owner" && { access: NEW_DRAFT.access, token_id: null }),
  name: `Copy of ${call.meta.name}`,
  tags: call.meta.tags.filter((tag) => tag !== SIMULATED_TAG),
});

export const bodyOf = (draft: CallDraft): object => ({
  meta: { name: draft.name, description: draft.description, tags: draft.tags },
  access: draft.access,
  request: {
    method: draft.method,
    url: draft.url.trim(),
    parameters: toPairs(draft.parameters),
    headers: toPairs(draft.headers),
    body: draft.body,
    auth_id: draft.auth_id,
    token_id: draft.auth_id === null ? null : draft.token_id,
  },
});

/**
 * Fills in the request of a cURL command, and a name derived from it if the call has none. The tags
 * and the name of the command `before` go.
 */
export const withCurl = (
  draft: CallDraft,
  { tags, ...request }: CurlRequest,
  before?: CurlRequest,
): CallDraft => {
  const isNamed = draft.name !== "" && !(before && draft.name === nameOf(before));
  const kept = draft.tags.filter((tag) => !before?.tags.includes(tag));
  return {
    ...draft,
    ...request,
    name: isNamed ? draft.name : nameOf(request),
    parameters: toRows(request.parameters),
    headers: toRows(request.headers),
    tags: [...new Set([...kept, ...tags])],
  };
};

const nameOf = ({ method, url }: Pick<CurlRequest, "method" | "url">): string =>
  `${method} ${url.replace(/^https?:\/\//i, "").replace(/[?#].*$/s, "")}`.slice(0, 200);

/**
 * Returns a URL's host without the port, as domains are stored: in lower case, `exämple.com` as
 * `xn--exmple-cua.com`. Undefined if absent, or a variable may fill it in.
 */
export function fixedHostOf(url: string): string | undefined {
  const [, authority = ""] = /^https?:\/\/([^/?#]+)/i.exec(url) ?? [];
  const host = authority.replace(/:\d*$/, "").toLowerCase();
  if (host === "" || /[{}%]|__/.test(host)) return undefined;
  return URL.parse(`http://${host}/`)?.hostname ?? host;
}

/** Browsers turn line ends in a text area into line feeds: restores the original ones. */
export const withLineEnds = (text: string, before: string | null): string =>
  before?.includes("\r\n") ? text.replaceAll("\n", "\r\n") : text;
