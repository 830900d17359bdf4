// A button that copies a text.
import { announce } from "../announcement.tsx";

export const CopyButton = ({
  text,
  label = "Copy",
  what,
  onCopied,
}: {
  readonly text: string;
  readonly label?: string;
  /** Continues the label for screen readers: it tells the button from others. */
  readonly what?: string;
  readonly onCopied?: () => void;
}) => (
  <button
    class="button"
    type="button"
    onClick={({ currentTarget }) => void copy(text, currentTarget).then(onCopied)}
  >
    {label}
    {what !== undefined && <span class="visually-hidden"> {what}</span>}
  </button>
);

async function copy(text: string, button: HTMLElement): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Browsers offer no clipboard to pages over plain http, except on loopback.
    const area = document.createElement("textarea");
    area.value = text;
    // What is outside an open dialog cannot be selected.
    (button.closest("dialog") ?? document.body).append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    button.focus();
  }
  announce("Copied");
}
