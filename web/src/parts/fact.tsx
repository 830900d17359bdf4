// A name and a value, in a list of facts.
import type { ComponentChildren } from "preact";

interface FactProps {
  readonly name: string;
  /** The tooltip of the name. */
  readonly hint?: string;
  readonly children: ComponentChildren;
}

export const Fact = ({ name, hint, children }: FactProps) => (
  <div>
    <dt title={hint}>{name}</dt>
    <dd>{children}</dd>
  </div>
);
