import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import type { FlowView } from '@weir/server/api/views';
import { disposable, open } from '../support/data/address.ts';
import { freedom } from '../support/process/config.ts';
import { Control } from '../support/process/control.ts';
import { inOwnNetwork } from '../support/netns/own-network.ts';
import { connectError, Datagrams, download, failureOf, upload } from '../support/netns/program.ts';
import {
  FAR,
  hasDevice,
  LAST_WORDS,
  NEAR,
  networkState,
  PORT,
  sentBy,
  Site,
} from '../support/netns/site.ts';
import { TUN, tunConfig } from '../support/netns/tun-config.ts';
import { bodyOf } from '../support/data/pattern.ts';
import { readAll, roundTrip } from '../support/read.ts';
import { eventually } from '../support/wait.ts';
import { Weir } from '../support/process/weir.ts';
import { shared } from '../support/shared.ts';

/** Bytes of a transfer. */
const SIZE = Number(process.env['WEIR_TUN_BYTES'] ?? 16 << 20);
const CONFIG = tunConfig(freedom());

const tcpFlowsTo = async (control: Control, host: string): Promise<readonly FlowView[]> =>
  (await control.flowsTo(host)).filter(({ network }) => network === 'tcp');

/** Destinations that cannot be connected to. */
const FAILING = [
  ['a closed port', FAR.host, PORT.closed],
  ['a closed port over IPv6', FAR.host6, PORT.closed],
  ['a network without a route', FAR.unreachable, 80],
  ['a network without a route over IPv6', FAR.unreachable6, 80],
] as const;

/** The one flow to a host, once it carries nothing more. */
function still(control: Control, host: string): Promise<FlowView> {
  const LOOKS = 10;
  let [last, looks] = ['', 0];
  return eventually('the flow to stop', async () => {
    const [flow] = await tcpFlowsTo(control, host);
    const now = `${flow?.up} ${flow?.down}`;
    looks = flow && flow.up + flow.down > 100 && now === last ? looks + 1 : 0;
    last = now;
    return looks === LOOKS ? flow : undefined;
  });
}

inOwnNetwork(import.meta.url, () => {
  describe('a machine whose traffic all goes by a TUN inbound', () => {
    let site: Site;
    let weir: Weir;
    let control: Control;
    let untouched: string;
    /** What a program sees of failing destinations when there is no Weir. */
    const bare = new Map<string, string>();

    shared(async (use) => {
      site = use(await Site.make());
      untouched = networkState();
      for (const [what, host, port] of FAILING) bare.set(what, await connectError(host, port));
      assert.deepEqual([...bare.values()].sort(), [
        'ECONNREFUSED',
        'ECONNREFUSED',
        'EHOSTUNREACH',
        'ENETUNREACH',
      ]);
      weir = use(await Weir.start(CONFIG));
      control = await Control.of(weir);
    });

    for (const [family, host, near] of [
      ['IPv4', FAR.host, TUN.host],
      ['IPv6', FAR.host6, 'fd19::1'],
    ] as const) {
      test(`${SIZE} bytes arrive whole in both directions over ${family}`, async () => {
        const [inside, outside] = [sentBy(TUN.name).bytes, sentBy(NEAR.device).bytes];
        const bodies = await Promise.all([upload(host, SIZE), download(host, SIZE)]);
        assert.deepEqual(bodies, [bodyOf(SIZE), bodyOf(SIZE)]);
        assert.ok(sentBy(TUN.name).bytes - inside > SIZE, 'the program has sent by the device');
        assert.ok(sentBy(NEAR.device).bytes - outside > SIZE, 'Weir has sent by the uplink');
      });

      test(`a flow over ${family} has no session, and the source of the program`, async () => {
        using socket = disposable(await open({ host, port: PORT.echo }));
        await roundTrip(socket, 'hello');
        const [flow] = await control.flowsTo(host);
        assert.ok(flow);
        const { id: _id, started_at: _at, plane_epoch: _epoch, ...view } = flow;
        assert.deepEqual(view, {
          session: null,
          network: 'tcp',
          inbound: 'tun',
          user: null,
          source: near,
          host,
          port: PORT.echo,
          sniffed: null,
          outbound: 'direct',
          outbound_version: 1,
          rule: null,
          up: 5,
          down: 5,
        });
      });

      test(`datagrams of 1 to 65,507 bytes come back whole over ${family}`, async () => {
        const largest = family === 'IPv4' ? 65_507 : 65_487;
        await using datagrams = await Datagrams.open(family === 'IPv4' ? 4 : 6);
        for (const size of [1, 1452, 1472, 1473, 2948, 9000, 40_000, largest]) {
          await datagrams.echo(randomBytes(size), host);
        }
      });
    }

    test('a client that ends its stream first still receives the response', async () => {
      using socket = disposable(await open({ host: FAR.host, port: PORT.digest }));
      socket.end('abc');
      const { data, clean } = await readAll(socket);
      assert.equal(clean, true);
      assert.match(data.toString(), /"bytes":3,/);
    });

    test('a server that ends its stream first still receives what the client sends', async () => {
      const { afterBanner } = await site.counts();
      using socket = disposable(await open({ host: FAR.host, port: PORT.banner }));
      assert.equal((await readAll(socket)).data.toString(), 'welcome\n');
      socket.end(Buffer.alloc(100_000));
      await eventually('the bytes after the banner', async () => {
        return (await site.counts()).afterBanner - afterBanner === 100_000;
      });
    });

    test('a reset by the server reaches the client as one', async () => {
      using socket = disposable(await open({ host: FAR.host, port: PORT.reset }));
      const failure = failureOf(socket);
      socket.write('x');
      assert.equal(await failure, 'ECONNRESET');
    });

    test('what the server sends before its reset reaches the client first', async () => {
      const once = async (): Promise<string> => {
        using socket = disposable(await open({ host: FAR.host, port: PORT.lastWords }));
        socket.on('error', () => undefined).write(Buffer.alloc(3000));
        const { data, clean } = await readAll(socket);
        return `${data.length} bytes, then ${clean ? 'an end' : 'a reset'}`;
      };
      const seen = await Promise.all(Array.from({ length: 20 }, once));
      assert.deepEqual([...new Set(seen)], [`${LAST_WORDS} bytes, then a reset`]);
    });

    test('a reset by the client reaches the server as one', async () => {
      const { resets } = await site.counts();
      using socket = disposable(await open({ host: FAR.host, port: PORT.echo }));
      await roundTrip(socket, 'hello');
      socket.resetAndDestroy();
      await eventually('the reset', async () => (await site.counts()).resets === resets + 1);
    });

    test('a killed flow is reset for the client', async () => {
      using socket = disposable(await open({ host: FAR.host, port: PORT.echo }));
      const failure = failureOf(socket);
      const [flow] = await eventually('the flow', async () => {
        const flows = await tcpFlowsTo(control, FAR.host);
        return flows.length === 1 ? flows : undefined;
      });
      await control.api.ask('DELETE', `/v1/connections/${flow?.id}`);
      assert.equal(await failure, 'ECONNRESET');
    });

    for (const [what, host, port] of FAILING) {
      test(`${what} is the error that it is without Weir`, async () => {
        assert.equal(await connectError(host, port), bare.get(what));
      });
    }

    test('a silent destination is silent for the program', async () => {
      using socket = disposable(await open({ host: FAR.host, port: PORT.echo }));
      using silent = disposable(connect({ host: FAR.silent, port: 80 }));
      let isDecided = false;
      silent.on('error', () => undefined).on('close', () => (isDecided = true));
      silent.on('connect', () => (isDecided = true));
      // Others are served meanwhile.
      for (let i = 0; i < 20; i++) await roundTrip(socket, 'hello');
      assert.equal(isDecided, false);
    });

    test('a client that reads nothing stops the server, and another is served', async () => {
      using stuck = disposable(await open({ host: FAR.host, port: PORT.source }));
      stuck.pause();
      stuck.write(`${256 << 20}\n`);
      const { down: held } = await still(control, FAR.host);
      assert.ok(held < 32 << 20, `${held} bytes are on their way`);
      assert.deepEqual(await download(FAR.host, 1 << 20), bodyOf(1 << 20));
    });

    test('a server that reads nothing stops the client', async () => {
      using socket = disposable(await open({ host: FAR.host, port: PORT.stuck }));
      socket.write(Buffer.alloc(64 << 20));
      const { up } = await still(control, FAR.host);
      assert.ok(up < 32 << 20, `${up} bytes are on their way`);
    });

    test('a thousand connections at once carry their own bytes', async () => {
      const COUNT = Number(process.env['WEIR_TUN_CONNECTIONS'] ?? 1000);
      using stack = new DisposableStack();
      const sockets = await Promise.all(
        Array.from({ length: COUNT }, async () => {
          return stack.use(disposable(await open({ host: FAR.host, port: PORT.echo })));
        }),
      );
      await Promise.all(
        sockets.map(async (socket, i) => {
          const text = `connection ${i}`;
          assert.equal((await roundTrip(socket, text)).toString(), text);
        }),
      );
      const echoes = async (): Promise<number> => {
        const flows = await tcpFlowsTo(control, FAR.host);
        return flows.filter(({ port }) => port === PORT.echo).length;
      };
      assert.equal(await echoes(), COUNT);
      for (const socket of sockets) socket.end();
      await eventually('the ends of the flows', async () => (await echoes()) === 0);
    });

    test('small writes come back one by one', async () => {
      using socket = disposable(await open({ host: FAR.host, port: PORT.echo }));
      for (let i = 0; i < 200; i++) {
        const key = Buffer.of(i);
        assert.deepEqual(await roundTrip(socket, key), key);
      }
    });

    test('the device and its routes go with a process that is killed, and come again', async () => {
      using socket = disposable(await open({ host: FAR.host, port: PORT.echo }));
      await roundTrip(socket, 'hello');
      await weir.stop('SIGKILL');
      assert.equal(hasDevice(TUN.name), false);
      assert.equal(networkState(), untouched);
      await weir[Symbol.asyncDispose]();
      weir = await Weir.start(CONFIG);
      control = await Control.of(weir);
      assert.deepEqual(await download(FAR.host, 1000), bodyOf(1000));
    });

    test('a stop removes the device with its routes', async () => {
      assert.deepEqual(await weir.stop(), { code: 0, signal: null });
      assert.equal(hasDevice(TUN.name), false);
      assert.equal(networkState(), untouched);
    });
  });
});
