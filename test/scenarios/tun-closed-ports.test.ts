import assert from 'node:assert/strict';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { freedom } from '../support/process/config.ts';
import { inOwnNetwork } from '../support/netns/own-network.ts';
import { FAR, PORT, Site } from '../support/netns/site.ts';
import { tunConfig } from '../support/netns/tun-config.ts';
import { eventually } from '../support/wait.ts';
import { Weir } from '../support/process/weir.ts';
import { shared } from '../support/shared.ts';

/** A port at the far end without a socket. */
const CLOSED = 9;

async function connected(host: string, port: number): Promise<Socket> {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
  socket.connect(port, host);
  await once(socket, 'connect');
  return socket;
}

/** What a program gets that sends to a peer until something comes back: the code of an error, or the data. */
async function outcome(host: string, port: number): Promise<string> {
  const socket = await connected(host, port);
  try {
    let result = '';
    socket.on('error', (error) => (result = 'code' in error ? String(error.code) : error.message));
    socket.on('message', (data) => (result = String(data)));
    await eventually('a response or an error', () => {
      if (result === '') socket.send('hello');
      return result !== '';
    });
    return result;
  } finally {
    socket.close();
  }
}

inOwnNetwork(import.meta.url, () => {
  describe('a closed UDP port behind a TUN inbound', () => {
    shared(async (use) => {
      use(await Site.make());
      use(await Weir.start(tunConfig(freedom())));
    });

    for (const host of [FAR.host, FAR.host6]) {
      test(`is reported to a program that sends to ${host}, and an open one responds`, async () => {
        assert.equal(await outcome(host, CLOSED), 'ECONNREFUSED');
        assert.equal(await outcome(host, PORT.echo), 'hello');
      });

      test(`does not end an association with other ports of ${host}`, async () => {
        const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
        const received: string[] = [];
        socket.on('message', (data) => received.push(String(data)));
        for (let round = 0; round < 5; round++) {
          socket.send('nothing', CLOSED, host);
          socket.send(`round ${round}`, PORT.echo, host);
          await eventually('the echo', () => received.includes(`round ${round}`));
        }
        // Nothing was lost to an error of another datagram.
        assert.deepEqual(received, ['round 0', 'round 1', 'round 2', 'round 3', 'round 4']);
        socket.close();
      });
    }
  });
});
