import { connect, type Socket } from 'node:net';

/** The way a load takes: straight to a port, or by SOCKS5 to `target`. */
export interface Via {
  readonly host: string;
  readonly port: number;
  /** Set when a SOCKS handshake names the destination; both IPv4. */
  readonly target?: { readonly host: string; readonly port: number };
}

/** Reads of all connections land here: what is measured must not be this process's allocator. */
const READ_BUFFER = Buffer.alloc(1 << 20);

const GREETING = Buffer.from([5, 1, 0]);

/**
 * Opens a connection, with as little work as Node allows, and calls `onData` for what comes after
 * the handshake. The bytes are only valid during the call.
 */
export function openFlow(via: Via, onData: (data: Uint8Array) => void): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const { target } = via;
  let state: 'greeting' | 'request' | 'open' = target ? 'greeting' : 'open';
  let pending = Buffer.alloc(0);
  const socket = connect({
    host: via.host,
    port: via.port,
    noDelay: true,
    onread: {
      buffer: READ_BUFFER,
      callback: (size, buffer) => {
        const data = buffer.subarray(0, size);
        if (state === 'open') onData(data);
        else handshake(data);
        return true;
      },
    },
  });
  socket.on('error', reject).once('close', () => reject(new Error('closed during the handshake')));
  socket.once('connect', () => {
    if (target) socket.write(GREETING);
    else resolve(socket);
  });
  const handshake = (data: Uint8Array): void => {
    pending = Buffer.concat([pending, data]);
    if (state === 'greeting' && pending.length >= 2) {
      pending = pending.subarray(2);
      state = 'request';
      if (target) socket.write(requestOf(target));
    }
    const size = pending[3] === 4 ? 22 : 10;
    if (state !== 'request' || pending.length < size) return;
    if (pending[1] !== 0) {
      reject(new Error(`SOCKS reply ${pending[1]}`));
      socket.destroy();
      return;
    }
    state = 'open';
    resolve(socket);
    if (pending.length > size) onData(pending.subarray(size));
  };
  return promise;
}

function requestOf({ host, port }: { readonly host: string; readonly port: number }): Buffer {
  return Buffer.from([5, 1, 0, 1, ...host.split('.').map(Number), port >> 8, port & 0xff]);
}
