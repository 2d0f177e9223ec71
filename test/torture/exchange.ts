import type { Socket } from 'node:net';
import { pattern } from '../support/data/pattern.ts';
import { tcpServer, type Origin } from '../support/peers/servers.ts';
import { readAll } from '../support/read.ts';
import { SERVED, unserved, Violation, type Outcome } from './scenario.ts';

/** Bytes of one exchange in each direction: beyond those after which a relay splices. */
export const SIZE = 640 << 10;

const BODY = Buffer.concat([...pattern(SIZE)]);

/** Sends back what comes, and keeps what was wrong with it. */
export interface CheckedEcho extends Origin {
  /** Bodies that were not whole although their stream ended without an abort, or were others. */
  readonly wrong: string[];
}

/** @param host to listen at. */
export async function checkedEcho(host?: string): Promise<CheckedEcho> {
  const wrong: string[] = [];
  const origin = await tcpServer(async (socket) => {
    let received = 0;
    socket.on('data', (chunk: Buffer) => {
      if (!chunk.equals(BODY.subarray(received, received + chunk.length))) {
        wrong.push(`the origin received other bytes after ${received}`);
      }
      received += chunk.length;
      if (!socket.write(chunk)) socket.pause();
    });
    socket.on('drain', () => socket.resume());
    socket.on('end', () => {
      if (received > 0 && received < SIZE) wrong.push(`a clean end after ${received} bytes`);
      socket.end();
    });
    await new Promise((resolve) => void socket.once('close', resolve));
  }, host);
  return { ...origin, wrong };
}

/**
 * Sends the body by a connection and reads it back.
 *
 * @throws {Violation} when other bytes come, or fewer without an abort.
 */
export async function exchange(
  connection: Promise<Socket>,
  echo: Pick<CheckedEcho, 'wrong'>,
): Promise<Outcome> {
  const outcome = await guarded(async () => {
    const socket = await connection;
    try {
      socket.end(BODY);
      const { data, clean } = await readAll(socket);
      if (!data.equals(BODY.subarray(0, data.length))) throw new Violation('other bytes came back');
      if (data.length === SIZE) return SERVED;
      if (clean) throw new Violation(`a clean end after ${data.length} of ${SIZE} bytes`);
      return unserved(`aborted after ${data.length} bytes`);
    } finally {
      socket.destroy();
    }
  });
  const [wrong] = echo.wrong.splice(0);
  if (wrong !== undefined) throw new Violation(wrong);
  return outcome;
}

/** Runs a client; a wait in vain is a violation, every other error is a failure it was told of. */
export async function guarded(use: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await use();
  } catch (error) {
    if (error instanceof Violation) throw error;
    if (error instanceof Error && error.message.includes(' in vain')) {
      throw new Violation(`a hang: ${error.message}`);
    }
    return unserved(error);
  }
}
