// Limits the bytes read from a connection: HTTP parsers count bodies and headers, but not chunk
// extensions, which may have any length.
import type { Socket } from "node:net";

/** Call it before anything is read. Beyond the limit, calls `onExcess` and reads nothing more. */
export function limitReading(socket: Socket, maxBytes: number, onExcess: () => void): void {
  const read = socket.read.bind(socket);
  let total = 0;
  socket.read = (size?: number): unknown => {
    const chunk: unknown = read(size);
    if (!Buffer.isBuffer(chunk)) return chunk;
    total += chunk.length;
    if (total <= maxBytes) return chunk;
    onExcess();
    return null;
  };
}
