// A wide or long table that scrolls by itself, also with the keyboard.
import type { ComponentChildren } from "preact";

interface ScrollRegionProps {
  readonly label: string;
  /** Whether it shows something chosen before, until the choice is read; default false. */
  readonly isOld?: boolean;
  /** Whether it scrolls down, too; default false. */
  readonly isTall?: boolean;
  readonly children: ComponentChildren;
}

export const ScrollRegion = ({ label, isOld, isTall, children }: ScrollRegionProps) => (
  <div
    class={isTall ? "scroll-x tall" : "scroll-x"}
    role="region"
    aria-label={label}
    aria-busy={isOld}
    tabIndex={0}
  >
    {children}
  </div>
);
