// The title of the browser's tab.
import { useEffect } from "preact/hooks";
import { inOneDirection } from "./direction.ts";

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${inOneDirection(title)} · Sonde`;
  }, [title]);
}
