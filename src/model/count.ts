// Words for a number of things.

/** `1 run`, `2 runs`. */
export const count = (number: number, one: string, many = `${one}s`): string =>
  `${number} ${number === 1 ? one : many}`;
