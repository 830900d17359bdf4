// The body of a response while it comes in: kept as far as it may be text of a size that is stored.
import { MAX_CONTENT_BYTES, withoutText } from "../../model/content.ts";
import type { Content } from "../../model/content.ts";

export interface KeptBody {
  /** Decoded bytes, in order. */
  readonly add: (chunk: Buffer) => void;
  /** To be called when all have come. */
  content(contentType: string | null): Content;
}

const NOTHING = Buffer.alloc(0);

export function createKeptBody(): KeptBody {
  // Copied: a chunk may be one byte, and keeps alive all that was read with it.
  let kept = NOTHING;
  let size = 0;
  return {
    add(chunk) {
      const at = size;
      size += chunk.length;
      if (size > MAX_CONTENT_BYTES) kept = NOTHING;
      else {
        if (size > kept.length) kept = grown(kept, size);
        chunk.copy(kept, at);
      }
    },
    content(contentType) {
      const bare: Content = {
        content_type: contentType,
        encoding: null,
        size,
        content: null,
        reason: null,
      };
      if (size > MAX_CONTENT_BYTES) return withoutText(bare, "too_large");
      const text = textOf(kept.subarray(0, size), contentType ?? "");
      return text ? { ...bare, ...text } : withoutText(bare, "binary");
    },
  };
}

function grown(bytes: Buffer, size: number): Buffer<ArrayBuffer> {
  const larger = Buffer.allocUnsafe(Math.max(2 * bytes.length, size));
  bytes.copy(larger);
  return larger;
}

type Read = Pick<Content, "encoding" | "content">;

/** Undefined for what is no text in the encoding that the server names, or else in UTF-8. */
function textOf(bytes: Buffer, contentType: string): Read | undefined {
  const [, label = "utf-8"] = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(contentType) ?? [];
  try {
    const decoder = new TextDecoder(label, { fatal: true });
    const content = decoder.decode(bytes);
    return CONTROL.test(content) ? undefined : { encoding: decoder.encoding, content };
  } catch {
    return undefined;
  }
}

// Of the control characters of ASCII, text has tabs, line breaks and form feeds.
const CONTROL = /[^\P{Cc}\t\n\f\r\u{80}-\u{9f}]/u;
