// Texts that people and targets may send to break a page.

/** Set by any injected script that runs. */
export const MARKER = "sondeWasInjected";

const RUN = `globalThis.${MARKER}=1`;

/** Markup that would run a script if it were not shown as text. */
export const MARKUP = `"'><img src=x onerror="${RUN}"><script>${RUN}</script><svg onload=${RUN}>`;

export const SCRIPT_URL = `javascript:${RUN}`;

/** Right-to-left overrides, isolates, zero width and combining characters. */
export const BIDI = "\u202Egnp.exe\u2066\u200B\uFEFFe\u0301\u0327\u0489\u0489";

/** Has no place to break the line. */
export const unbroken = (length: number): string => "W".repeat(length);
