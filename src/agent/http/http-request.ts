// A request as it goes on the wire.
import { isUtf8 } from "node:buffer";
import type { KeyValue } from "../../model/fields.ts";

/** Of a URL that a request goes to, given or redirected to. Characters. */
export const MAX_URL_LENGTH = 32 * 1024;

export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  /** In the order of sending; values as the bytes on the wire, one character each. */
  readonly headers: readonly KeyValue[];
  readonly body: Buffer | null;
  /** What else than headers known by name must not reach another host. */
  readonly confidential?: {
    /** Names in lower case. */
    readonly headers: readonly string[];
    readonly body: boolean;
  };
  /** PEM; shown to this host only. */
  readonly clientCertificate?: { readonly cert: string; readonly key: string };
  /**
   * Where a signature holds for one request only: signs what a redirect within this host makes of
   * it.
   */
  readonly sign?: (redirected: HttpRequest, moment: Moment) => Promise<BuiltRequest>;
}

/** Built or refused; a reason is a sentence for the user, and holds no credential. */
export type BuiltRequest = { readonly request: HttpRequest } | { readonly reason: string };

/** What a signature takes from the moment that it is made. */
export interface Moment {
  /** Epoch milliseconds. */
  readonly now: number;
  /** Never used twice; letters and digits. */
  readonly nonce: string;
}

/** Of a header's value as it is on the wire; what is no UTF-8 stays one character for each byte. */
export function textOfHeader(value: string): string {
  if (!/[\x80-\xff]/.test(value)) return value;
  const bytes = Buffer.from(value, "latin1");
  return isUtf8(bytes) ? bytes.toString() : value;
}
