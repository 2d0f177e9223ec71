import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { open, portOf, type Address } from '../support/data/address.ts';
import { httpTunnel } from '../support/peers/http-client.ts';
import { bodyOf, receiveBody, sendBody } from '../support/data/pattern.ts';
import { readAll, readExactly, readUpTo } from '../support/read.ts';
import { SocksRefused, socksConnect, type Target } from '../support/peers/socks-client.ts';
import { UdpAssociation } from '../support/peers/socks-udp.ts';
import { entrance, GROUP, HTTP, ROAMING, wrongEntrance } from './configurations.ts';
import { BODY_SIZE, MODE } from './origin.ts';
import type { RunningWeir } from './running-weir.ts';
import { connectionsOf } from './sample.ts';
import { hasSecret, isOverQuic, takesDatagrams, type Tunnel } from './tunnels.ts';

/** What clients are made for. */
export interface Scene {
  readonly client: RunningWeir;
  readonly server: RunningWeir;
  readonly tunnels: readonly Tunnel[];
  readonly origin: number;
  /** Sends datagrams back. */
  readonly echo: Target;
  /** Where no connection is accepted. */
  readonly closed: number;
  readonly shadowsocksDatagrams: boolean;
  readonly choose: (below: number) => number;
  /** Called with the tag of the tunnel that a client goes through. */
  readonly chosen: (tag: string) => void;
}

/** One client from its start to its end; it rejects when it was not served as it should be. */
export interface Kind {
  readonly name: string;
  readonly weight: number;
  readonly run: (scene: Scene) => Promise<void>;
}

const pick = <T>({ choose }: Scene, from: readonly T[]): T => {
  const one = from[choose(from.length)];
  if (one === undefined) throw new Error('nothing to choose from');
  return one;
};

const socksOf = (scene: Scene): Address => through(scene, scene.tunnels);

/** The SOCKS inbound of one of the tunnels, which the client then goes through. */
function through(scene: Scene, tunnels: readonly Tunnel[]): Address {
  const { tag } = pick(scene, tunnels);
  scene.chosen(tag);
  return scene.client.address(entrance(tag));
}

const here = ({ origin }: Scene): Target => ({ host: '127.0.0.1', port: origin });

/** Runs `use` with a connection that speaks of a mode, and destroys it whatever happens. */
async function withConnection(
  connection: Promise<Socket>,
  mode: number,
  use: (socket: Socket) => Promise<void>,
): Promise<void> {
  const socket = await connection;
  try {
    socket.write(Buffer.of(mode));
    await use(socket);
  } finally {
    socket.destroy();
  }
}

/** Bytes there and back, the client's end and the other's. */
async function echoes(scene: Scene, connection: Promise<Socket>): Promise<void> {
  const sent = randomBytes(1 + scene.choose(60_000));
  await withConnection(connection, MODE.echo, async (socket) => {
    socket.end(sent);
    const { data, clean } = await readAll(socket);
    if (!clean || !data.equals(sent)) {
      throw new Error(`${data.length} of ${sent.length} bytes came back, clean: ${clean}`);
    }
  });
}

/** Connects, waits for at most `milliseconds`, and leaves. */
async function leaves(connection: Promise<Socket>, milliseconds: number): Promise<void> {
  const late = connection.then(
    (socket) => socket.destroy(),
    () => undefined,
  );
  await Promise.race([late, sleep(milliseconds)]);
}

/** Sends a SOCKS request for a target and leaves before the response. */
async function leavesDial(scene: Scene, host: string): Promise<void> {
  const socket = await open(socksOf(scene));
  const name = Buffer.from(host);
  const request = [Buffer.of(5, 1, 0, 5, 1, 0, 3, name.length), name, Buffer.of(0, 80)];
  socket.write(Buffer.concat(request));
  await sleep(scene.choose(60));
  if (scene.choose(2) === 0) socket.resetAndDestroy();
  else socket.destroy();
}

export const KINDS: readonly Kind[] = [
  {
    name: 'echo',
    weight: 20,
    run: (scene) => echoes(scene, socksConnect(socksOf(scene), here(scene))),
  },
  {
    name: 'name',
    weight: 10,
    run: (scene) => {
      const host = `n${scene.choose(3000)}.d${scene.choose(6)}.soak.test`;
      return echoes(scene, socksConnect(socksOf(scene), { host, port: scene.origin }));
    },
  },
  {
    name: 'http',
    weight: 5,
    run: (scene) =>
      echoes(scene, httpTunnel(scene.client.address(HTTP), `127.0.0.1:${scene.origin}`)),
  },
  {
    name: 'balancer',
    weight: 3,
    run: (scene) => echoes(scene, socksConnect(scene.client.address(GROUP), here(scene))),
  },
  {
    name: 'roaming',
    weight: 3,
    // The inbound moves: a client may meet its closed port.
    run: (scene) =>
      leaves(
        socksConnect(pick(scene, [scene.client, scene.server]).address(ROAMING), here(scene)),
        500,
      ),
  },
  {
    name: 'half-close',
    weight: 10,
    run: (scene) =>
      withConnection(socksConnect(socksOf(scene), here(scene)), MODE.digest, async (socket) => {
        const sent = await sendBody(socket, BODY_SIZE);
        socket.end();
        const { data } = await readAll(socket);
        if (String(data) !== JSON.stringify(sent))
          throw new Error(`not the digest: ${String(data)}`);
      }),
  },
  {
    name: 'half-close by the origin',
    weight: 8,
    run: (scene) =>
      withConnection(socksConnect(socksOf(scene), here(scene)), MODE.body, async (socket) => {
        const { digest } = await receiveBody(socket);
        if (digest !== bodyOf(BODY_SIZE).digest) throw new Error('not the body');
        socket.end(randomBytes(1000));
      }),
  },
  {
    name: 'reset',
    weight: 7,
    run: (scene) =>
      withConnection(socksConnect(socksOf(scene), here(scene)), MODE.echo, async (socket) => {
        socket.write('x');
        await readExactly(socket, 1);
        socket.resetAndDestroy();
      }),
  },
  {
    name: 'reset by the origin',
    weight: 6,
    run: (scene) =>
      withConnection(socksConnect(socksOf(scene), here(scene)), MODE.reset, async (socket) => {
        if ((await readUpTo(socket, 1)) !== undefined) throw new Error('bytes in place of a reset');
      }),
  },
  {
    name: 'silence',
    weight: 3,
    run: (scene) =>
      withConnection(socksConnect(socksOf(scene), here(scene)), MODE.silence, async () => {
        await sleep(scene.choose(100));
      }),
  },
  {
    name: 'left in the dial',
    weight: 5,
    run: (scene) => leavesDial(scene, `n${scene.choose(50)}.silent.soak.test`),
  },
  {
    name: 'unreachable',
    weight: 4,
    run: async (scene) => {
      const target =
        scene.choose(2) === 0
          ? { host: '127.0.0.1', port: scene.closed }
          : { host: `n${scene.choose(500)}.none.soak.test`, port: 80 };
      try {
        // Some protocols have no response to a request: then the connection ends.
        const socket = await socksConnect(socksOf(scene), target);
        const got = await readUpTo(socket, 1);
        socket.destroy();
        if (got !== undefined) throw new Error('bytes from an unreachable target');
      } catch (error) {
        if (!(error instanceof SocksRefused)) throw error;
      }
    },
  },
  {
    name: 'garbage',
    weight: 6,
    run: async (scene) => {
      const tunnel = pick(scene, scene.tunnels);
      if (isOverQuic(tunnel)) return sendGarbage(scene, scene.server.address(tunnel.tag));
      const socket = await open(scene.server.address(tunnel.tag));
      const size = scene.choose(4) === 0 ? 0 : scene.choose(3000);
      socket.write(randomBytes(size));
      await sleep(scene.choose(30));
      if (scene.choose(3) === 0) socket.resetAndDestroy();
      else socket.destroy();
    },
  },
  {
    name: 'wrong password',
    weight: 4,
    run: async (scene) => {
      const { tag } = pick(scene, scene.tunnels.filter(hasSecret));
      const connection = socksConnect(scene.client.address(wrongEntrance(tag)), here(scene));
      const late = connection.then(
        async (socket) => {
          socket.write(Buffer.concat([Buffer.of(MODE.echo), randomBytes(100)]));
          await Promise.race([mustFailToEcho(socket), sleep(200)]);
          socket.destroy();
        },
        () => undefined,
      );
      await late;
    },
  },
  {
    name: 'datagrams',
    weight: 6,
    run: async (scene) => {
      const able = scene.tunnels.filter((each) => takesDatagrams(each, scene.shadowsocksDatagrams));
      if (able.length === 0) return;
      using association = await UdpAssociation.open(through(scene, able));
      for (let left = 1 + scene.choose(4); left > 0; left--) {
        const data = randomBytes(1 + scene.choose(1200));
        association.send(scene.echo, data);
        const received = await association.receive();
        if (!received.data.equals(data)) throw new Error('another datagram than was sent');
      }
    },
  },
  {
    name: 'API',
    weight: 3,
    run: async (scene) => {
      const { api } = pick(scene, [scene.client, scene.server]);
      await api.json('GET', '/v1/connections');
      await api.json('GET', '/v1/routes');
      using events = await api.events(
        scene.choose(2) === 0 ? '/v1/connections/events' : '/v1/traffic',
      );
      await sleep(scene.choose(50));
      events.message.destroy();
    },
  },
  {
    name: 'killed',
    weight: 2,
    run: (scene) => {
      const host = `127.${1 + scene.choose(250)}.${scene.choose(250)}.${1 + scene.choose(250)}`;
      const connection = socksConnect(socksOf(scene), { host, port: scene.origin });
      return withConnection(connection, MODE.echo, async (socket) => {
        socket.write('x');
        await readExactly(socket, 1);
        const weir = pick(scene, [scene.client, scene.server]);
        const flow = (await connectionsOf(weir)).flows.find((each) => each.host === host);
        if (!flow) throw new Error(`no flow to ${host} in the ${weir.name}`);
        const { status } = await weir.api.ask('DELETE', `/v1/connections/${flow.id}`);
        if (status !== 204) throw new Error(`a kill: ${status}`);
        if ((await readUpTo(socket, 1)) !== undefined) throw new Error('bytes after a kill');
      });
    },
  },
];

/** Datagrams that are no packets of QUIC, or an Initial with nothing in it. */
async function sendGarbage(scene: Scene, server: Address): Promise<void> {
  const socket = createSocket('udp4');
  try {
    for (let left = 1 + scene.choose(8); left > 0; left--) {
      const datagram = randomBytes(1 + scene.choose(1400));
      if (scene.choose(2) === 0) datagram[0] = 0xc0;
      const { promise, resolve } = Promise.withResolvers<unknown>();
      socket.send(datagram, portOf(server), '127.0.0.1', resolve);
      await promise;
    }
  } finally {
    socket.close();
  }
}

async function mustFailToEcho(socket: Socket): Promise<void> {
  if ((await readUpTo(socket, 1)) !== undefined) throw new Error('served with a wrong password');
}
