import { connect, type Socket } from 'node:net';
import { abortReason } from '@weir/io/time';
import type { Fetch } from './contract.ts';
import { createFetch, type FetchConnect } from './http-fetch.ts';

/** Opens a TCP connection from this host, with its resolver. */
export const connectDirectly: FetchConnect = async (target, signal) => {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = connect(target);
  const onAbort = (): void => reject(abortReason(signal));
  signal.addEventListener('abort', onAbort, { once: true });
  socket.once('connect', () => resolve(socket)).on('error', reject);
  try {
    return await promise;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
};

/** Fetches over direct connections from this host, without a proxy. */
export const fetchDirectly: Fetch = createFetch(connectDirectly);
