// A button that copies a text.
import { announce } from "./announcement.tsx";

export const CopyButton = ({
  text,
  label = "Copy",
  what,
}: {
  readonly text: string;
  readonly label?: string;
  /** Continues the label for screen readers: it tells the button from others. */
  readonly what?: string;
}) => (
  <button class="button" type="button" onClick={() => void copy(text)}>
    {label}
    {what !== undefined && <span class="visually-hidden"> {what}</span>}
  </button>
);

async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Browsers offer no clipboard to pages over plain http, except on loopback.
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  announce("Copied");
}
