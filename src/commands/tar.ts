// Tar archives (POSIX ustar) of a few small files.
export interface TarFile {
  /** Includes its folders; at most 100 bytes. */
  readonly path: string;
  readonly content: string;
  readonly mode: number;
}

const BLOCK = 512;

/** `seconds`: the modification time of every file, in seconds since the epoch. */
export const tarOf = (files: readonly TarFile[], seconds: number): Uint8Array =>
  Buffer.concat([
    ...files.flatMap((file) => {
      const content = Buffer.from(file.content);
      return [header(file, content.length, seconds), content, padding(content.length)];
    }),
    Buffer.alloc(2 * BLOCK),
  ]);

const padding = (bytes: number): Buffer => Buffer.alloc((BLOCK - (bytes % BLOCK)) % BLOCK);

function header({ path, mode }: TarFile, bytes: number, seconds: number): Buffer {
  const block = Buffer.alloc(BLOCK);
  block.write(path, 0, 100);
  block.write(octal(mode, 8), 100);
  block.write(octal(0, 8), 108); // owner
  block.write(octal(0, 8), 116); // group
  block.write(octal(bytes, 12), 124);
  block.write(octal(Math.floor(seconds), 12), 136);
  block.write(" ".repeat(8), 148); // the checksum counts as spaces
  block.write("0", 156); // a regular file
  block.write("ustar\u000000", 257);
  const checksum = block.reduce((sum, byte) => sum + byte, 0);
  block.write(`${octal(checksum, 7)} `, 148);
  return block;
}

/** Ends with a NUL. */
const octal = (value: number, width: number): string =>
  `${value.toString(8).padStart(width - 1, "0")}\0`;
