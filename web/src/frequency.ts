// How often a deployment runs, in words.
import { FREQUENCIES } from "../../src/model/slots.ts";

const HOUR = 60;
const DAY = 24 * HOUR;

/** Words a frequency in minutes: `every minute`, `every 6 hours`. */
export function inWords(frequency: number): string {
  if (frequency === 1) return "every minute";
  if (frequency < HOUR) return `every ${frequency} minutes`;
  if (frequency === HOUR) return "every hour";
  return frequency === DAY ? "every day" : `every ${frequency / HOUR} hours`;
}

export const FREQUENCY_CHOICES = FREQUENCIES.map((frequency) => ({
  value: String(frequency),
  name: inWords(frequency),
}));

/** Says in a sentence when runs with a delay of this many seconds are due. */
export function delayInWords(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  if (!(minutes >= 1)) return "After the minute begins.";
  const later = minutes === 1 ? "in the next minute" : `${minutes} minutes later`;
  return `Each run is due ${later}, at second ${seconds % 60}.`;
}
