import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { Address } from '../data/address.ts';
import { bodyOf, receiveBody, sendBody, type Body } from '../data/pattern.ts';
import { readAll } from '../read.ts';
import { socksConnect, type Target } from '../peers/socks-client.ts';
import { UdpAssociation } from '../peers/socks-udp.ts';
import { eventually } from '../wait.ts';
import { FAR, PORT } from './site.ts';

export const at = (host: string, port: number): Target => ({ host, port });

export async function upload(socks: Address, host: string, size: number): Promise<Body> {
  const socket = await socksConnect(socks, at(host, PORT.digest));
  await sendBody(socket, size);
  socket.end();
  return JSON.parse((await readAll(socket)).data.toString()) as Body;
}

export async function download(socks: Address, host: string, size: number): Promise<Body> {
  const socket = await socksConnect(socks, at(host, PORT.source));
  socket.write(`${size}\n`);
  const body = await receiveBody(socket);
  socket.end();
  return body;
}

/** A few bytes there and back. */
export async function says(socks: Address, host = FAR.host as string): Promise<void> {
  assert.deepEqual(await download(socks, host, 1000), bodyOf(1000));
}

export async function echoes(
  socks: Address,
  host: string,
  sizes: readonly number[],
): Promise<void> {
  using association = await UdpAssociation.open(socks);
  for (const size of sizes) {
    const data = randomBytes(size);
    const back = await eventually(`a datagram of ${size} bytes`, async () => {
      association.send(at(host, PORT.echo), data);
      const received = await association.receive(1000).catch(() => undefined);
      return received?.data.equals(data) === true ? received : undefined;
    });
    assert.deepEqual(at(back.from.host, back.from.port), at(host, PORT.echo));
  }
}
