// A client that sends more than the server accepts, or less than announced.
import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";

/** Allows for the client's buffers, the server's, and what the server reads. */
export const MOST_SENT = 16 * 1024 * 1024;
const PIECE = `10000\r\n${"b".repeat(0x1_00_00)}\r\n`;

/** Sends an endless body until the connection is closed, or four times too much was sent. */
export async function sendEndlessly(
  port: number,
  start: string,
  headers = "",
): Promise<{ readonly answer: string; readonly sent: number }> {
  const socket = connect(port, "127.0.0.1");
  let answer = "";
  socket.on("data", (chunk: Buffer) => (answer += chunk.toString("latin1")));
  socket.write(`${start} HTTP/1.1\r\nHost: a\r\n${headers}Transfer-Encoding: chunked\r\n\r\n`);
  const more = (): void => {
    while (socket.writable && socket.write(PIECE));
    if (socket.bytesWritten > 4 * MOST_SENT) socket.destroy();
  };
  socket.on("drain", more);
  more();
  await closeOf(socket);
  return { answer, sent: socket.bytesWritten };
}

/** Returns what arrives until the server closes the connection. */
export async function answerTo(port: number, sent: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  let answer = "";
  socket.on("data", (chunk: Buffer) => (answer += chunk.toString("latin1")));
  socket.write(sent);
  await closeOf(socket);
  return answer;
}

/** Whether the server closes the one connection beyond `allowed`, and none of the others. */
export async function closedBeyond(port: number, allowed: number): Promise<boolean> {
  const within = Array.from({ length: allowed }, () => connect(port, "127.0.0.1"));
  await Promise.all(within.map((socket) => once(socket, "connect")));
  const beyond = connect(port, "127.0.0.1");
  await closeOf(beyond);
  const areOpen = within.every(({ readyState }) => readyState === "open");
  for (const socket of within) socket.destroy();
  return areOpen;
}

/** Resolves however the connection ends: a write to a closed connection is an error. */
const closeOf = (socket: Socket): Promise<void> =>
  new Promise((resolve) => socket.on("error", () => undefined).once("close", () => resolve()));
