// Writes bytes in base 32.

/** Without padding. `alphabet`: 32 characters, one for each five bits. */
export function base32(bytes: Uint8Array, alphabet: string): string {
  let [text, bits, held] = ["", 0, 0];
  for (const byte of bytes) {
    held = ((held << 8) | byte) & 0xf_ff;
    bits += 8;
    for (; bits >= 5; bits -= 5) text += alphabet.charAt((held >> (bits - 5)) & 31);
  }
  return bits > 0 ? text + alphabet.charAt((held << (5 - bits)) & 31) : text;
}
