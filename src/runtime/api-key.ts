// Generates API keys, recognizes them, and hashes them for the store.
import { hash, randomInt } from "node:crypto";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const LENGTH = 32;

/** 32 letters and digits: 190 bits of randomness. */
export const newApiKey = (): string =>
  Array.from({ length: LENGTH }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join("");

export const isApiKey = (text: string): boolean => /^[A-Za-z0-9]{32}$/.test(text);

/** A key cannot be guessed, so a fast hash without a salt is enough. */
export const hashApiKey = (key: string): string => hash("sha256", key);
