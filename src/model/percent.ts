// Percentages as the tables of the pages and of the command line show them.

/** With two decimals, to compare a column. Rounds down: a failure never shows as 100. */
export function percentText(percent: number): string {
  // Removes the error of binary numbers before it is rounded down: 64.1 * 100 is 6409.999999999999.
  const hundredths = Number((percent * 100).toFixed(6));
  return (Math.floor(hundredths) / 100).toFixed(2);
}
