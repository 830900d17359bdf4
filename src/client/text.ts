// Makes foreign text harmless to a terminal, and measures its width there.

/**
 * Control and format characters, which could move the cursor, hide text or reverse it, and halves
 * of surrogate pairs. Joiners are left alone: scripts and emoji need them.
 */
const HOSTILE = /(?![\u200C\u200D])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const ESCAPES: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Returns one line with terminal control characters escaped. */
export const harmless = (text: string): string =>
  text.replaceAll(
    HOSTILE,
    (each) => ESCAPES[each] ?? `\\u{${(each.codePointAt(0) ?? 0).toString(16)}}`,
  );

/** Returns JSON of the same value, with such characters in JSON's own escapes. */
export const harmlessJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replaceAll(HOSTILE, (each) =>
    each === "\n"
      ? each
      : Array.from({ length: each.length }, (_, n) => jsonEscape(each.charCodeAt(n))).join(""),
  );

const jsonEscape = (unit: number): string => `\\u${unit.toString(16).padStart(4, "0")}`;

/** Like `harmless`, but keeps line breaks and tabs. */
export const harmlessLines = (text: string): string =>
  text
    .replaceAll(/\r(?=\n|$)/g, "")
    .replaceAll(HOSTILE, (each) => (/[\n\t]/.test(each) ? each : harmless(each)));

/** Characters that take two columns: East Asian wide and full-width characters, and emoji. */
const WIDE =
  /[\u1100-\u115F\u3000-\u303E\u3041-\u33FF\u3400-\u4DBF\u4E00-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\u{20000}-\u{3FFFD}]|\p{Emoji_Presentation}|\uFE0F/u;
const ZERO_WIDTH = /^[\p{Mn}\p{Me}\u200C\u200D]+$/u;
const PLAIN = /^[\x20-\x7E]*$/;
const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

const widthOfGrapheme = (grapheme: string): number =>
  ZERO_WIDTH.test(grapheme) ? 0 : WIDE.test(grapheme) ? 2 : 1;

/** Returns how many terminal columns the text takes. */
export function widthOf(text: string): number {
  if (PLAIN.test(text)) return text.length;
  return [...graphemes.segment(text)].reduce(
    (width, { segment }) => width + widthOfGrapheme(segment),
    0,
  );
}

/** Cuts the text to this many columns if it is wider; the last one then shows `…`. */
export function cut(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let [kept, width] = ["", 0];
  for (const { segment } of graphemes.segment(text)) {
    width += widthOfGrapheme(segment);
    if (width > columns - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}
