// Handles requests answered before their body was read: Node would otherwise read and discard the
// rest, however long.
import type { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";

/**
 * How much is still read, and for how long: a client may send this much before it reads its answer.
 */
const LEFT_BYTES = 256 * 1024;
const LEFT_MS = 2_000;

/**
 * Makes the answer the last on its connection if part of the body has not arrived. Closing at once
 * may lose the answer (RFC 9112 section 9.6). Await it before the answer; undefined if there is
 * nothing to await.
 */
export function closeIfUnread(
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> | undefined {
  const { headers, socket } = request;
  const hasBody =
    headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
  if (!hasBody || isRead(request) || !(socket instanceof Socket)) return undefined;
  return closeUnread(request, response, socket);
}

const isRead = (request: IncomingMessage): boolean => request.complete || request.readableEnded;

async function closeUnread(
  request: IncomingMessage,
  response: ServerResponse,
  socket: Socket,
): Promise<void> {
  await nextTurn(); // a short body has arrived by then, behind its head
  if (isRead(request) || response.headersSent || socket.destroyed) return;
  response.setHeader("connection", "close");
  let left = LEFT_BYTES;
  const end = (): void => void socket.destroy();
  request.on("error", end).on("end", end);
  request.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) end();
  });
  // Node calls this after the answer.
  socket.destroySoon = () => {
    socket.end();
    const timer = setTimeout(end, LEFT_MS);
    socket.once("close", () => clearTimeout(timer));
  };
}
