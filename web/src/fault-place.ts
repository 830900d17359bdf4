// Where in a body a fault is, from the words of the interface.

export interface PlacedFault {
  /** As in `request.url` or `request.headers[0].key`; undefined where it names none. */
  readonly path: string | undefined;
  readonly text: string;
}

/** Of an error message such as `deployment.frequency: 7 is not one of […]`. */
export function placeFault(message: string): PlacedFault {
  const required = /^'([\w.[\]-]+)' is a required property/.exec(message);
  if (required) return { path: required[1], text: message };
  const [, path, text = message] = /^([\w.[\]-]+): (.+)$/s.exec(message) ?? [];
  return { path, text };
}
