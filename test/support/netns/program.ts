import { createSocket, type RemoteInfo, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { codeOf } from '@weir/base';
import { open } from '../data/address.ts';
import { receiveBody, sendBody, type Body } from '../data/pattern.ts';
import { readAll } from '../read.ts';
import { eventually, within } from '../wait.ts';
import { PORT } from './site.ts';

/*
 * What an ordinary program does with the network of this process, by sockets of the kernel.
 */

/** Uploads a body and returns what the far end says that it was. */
export async function upload(host: string, size: number): Promise<Body> {
  const socket = await open({ host, port: PORT.digest });
  await sendBody(socket, size);
  socket.end();
  const { data } = await readAll(socket);
  return JSON.parse(data.toString()) as Body;
}

/** Downloads a body. */
export async function download(host: string, size: number): Promise<Body> {
  const socket = await open({ host, port: PORT.source });
  socket.write(`${size}\n`);
  const body = await receiveBody(socket);
  socket.end();
  return body;
}

/** The error code of a connection that fails; `connected` when it does not. */
export async function connectError(host: string, port: number): Promise<string> {
  const socket = connect({ host, port });
  try {
    await within(once(socket, 'connect'), `a response of ${host}:${port}`);
    return 'connected';
  } catch (error) {
    return codeOf(error) ?? String(error);
  } finally {
    socket.destroy();
  }
}

/** The error code with which a socket is closed; `undefined` when there is none. */
export async function failureOf(socket: Socket): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  socket.once('error', (error) => resolve(codeOf(error)));
  socket.once('close', () => resolve(undefined));
  socket.resume();
  return within(promise, 'the end of a connection');
}

/** A UDP socket of this network. */
export class Datagrams implements AsyncDisposable {
  readonly socket: UdpSocket;
  readonly received: { readonly data: Buffer; readonly from: RemoteInfo }[] = [];

  private constructor(socket: UdpSocket) {
    this.socket = socket;
    socket.on('message', (data, from) => this.received.push({ data, from }));
  }

  static async open(family: 4 | 6 = 4): Promise<Datagrams> {
    const socket = createSocket({ type: `udp${family}`, recvBufferSize: 1 << 20 });
    socket.bind(0);
    await once(socket, 'listening');
    return new Datagrams(socket);
  }

  get port(): number {
    return this.socket.address().port;
  }

  async send(data: Uint8Array, port: number, host: string): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.socket.send(data, port, host, (error) => (error ? reject(error) : resolve()));
    await promise;
  }

  /** Sends to the echo service until the datagram has come back. */
  async echo(data: Uint8Array, host: string): Promise<void> {
    const isBack = (): boolean => this.received.some((one) => one.data.equals(data));
    let turn = 0;
    await eventually(`an echo of ${data.length} bytes by ${host}`, async () => {
      // UDP may lose it, if only for want of a buffer: once a second is enough.
      if (turn++ % 50 === 0) await this.send(data, PORT.echo, host);
      return isBack();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.close();
    await once(this.socket, 'close');
  }
}
