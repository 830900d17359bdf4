// Announces completed actions: shown briefly, and read out by screen readers.
import { signal } from "@preact/signals";
import { inOneDirection } from "./direction.ts";

const SHOWN_MS = 5000;

const announced = signal("");
let timer: ReturnType<typeof setTimeout> | undefined;

export function announce(text: string): void {
  announced.value = inOneDirection(text);
  clearTimeout(timer);
  timer = setTimeout(() => {
    announced.value = "";
  }, SHOWN_MS);
}

export const Announcement = () => (
  <div class="announcement" role="status">
    {announced.value}
  </div>
);
