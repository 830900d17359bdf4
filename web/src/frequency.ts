// How often a deployment runs, in words.
import { FREQUENCIES } from "../../src/model/slots.ts";

const HOUR = 60;
const DAY = 24 * HOUR;

/** Of minutes: `every minute`, `every 6 hours`. */
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
