// Finds where in a body a fault is, from the error message of the API.

export interface PlacedFault {
  /** Such as `request.url` or `request.headers[0].key`; undefined if the message names none. */
  readonly path: string | undefined;
  readonly text: string;
}

/** Parses an error message such as `deployment.frequency: 7 is not one of […]`. */
export function placeFault(message: string): PlacedFault {
  const required = /^'([\w.[\]-]+)' is a required property/.exec(message);
  if (required) return { path: required[1], text: message };
  const [, path, text = message] = /^([\w.[\]-]+): (.+)$/s.exec(message) ?? [];
  return { path, text };
}
