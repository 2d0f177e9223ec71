import type { Socket } from 'node:net';
import { within } from './wait.ts';

/**
 * Reads exactly `size` bytes and leaves what follows in the socket; `undefined` when the peer ended
 * or reset the connection first.
 */
export async function readUpTo(socket: Socket, size: number): Promise<Buffer | undefined> {
  if (size === 0) return Buffer.alloc(0);
  const { promise, resolve } = Promise.withResolvers<Buffer | undefined>();
  const look = (): void => {
    const chunk: unknown = socket.read(size);
    if (Buffer.isBuffer(chunk)) resolve(chunk.length === size ? chunk : undefined);
    else if (socket.readableEnded || socket.destroyed) resolve(undefined);
  };
  socket.on('readable', look).on('end', look).on('close', look);
  try {
    look();
    return await within(promise, `${size} bytes from a peer`);
  } finally {
    socket.off('readable', look).off('end', look).off('close', look);
  }
}

/** Reads exactly `size` bytes; a peer that ends before is a failure. */
export async function readExactly(socket: Socket, size: number): Promise<Buffer> {
  const bytes = await readUpTo(socket, size);
  if (!bytes) throw new Error(`the peer closed before ${size} bytes had come`);
  return bytes;
}

/** Reads lines up to and including the first empty one, as text, and leaves the rest. */
export async function readHead(socket: Socket): Promise<string> {
  let head = '';
  while (!head.endsWith('\r\n\r\n')) head += (await readExactly(socket, 1)).toString('latin1');
  return head;
}

/** Reads to the end of stream or to a reset. */
export async function readAll(socket: Socket): Promise<{ data: Buffer; clean: boolean }> {
  const chunks: Buffer[] = [];
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const onData = (chunk: Buffer): void => void chunks.push(chunk);
  const onEnd = (): void => resolve(true);
  const onClose = (): void => resolve(false);
  socket.on('data', onData).on('end', onEnd).on('close', onClose);
  try {
    if (socket.readableEnded) onEnd();
    else if (socket.destroyed) onClose();
    else socket.resume();
    const clean = await within(promise, 'the end of what a peer sends');
    return { data: Buffer.concat(chunks), clean };
  } finally {
    socket.off('data', onData).off('end', onEnd).off('close', onClose);
  }
}

/** Sends bytes and resolves when the same number has come back. */
export async function roundTrip(socket: Socket, data: Uint8Array | string): Promise<Buffer> {
  const bytes = typeof data === 'string' ? Buffer.from(data) : data;
  socket.write(bytes);
  return readExactly(socket, bytes.length);
}
