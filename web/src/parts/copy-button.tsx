// A button that copies a text.
import { announce } from "./announcement.tsx";

export const CopyButton = ({
  text,
  label = "Copy",
}: {
  readonly text: string;
  readonly label?: string;
}) => (
  <button class="button" type="button" onClick={() => void copy(text)}>
    {label}
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
