import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { disposable, open } from '../support/data/address.ts';
import { Child } from '../support/process/child.ts';
import { browse } from '../support/programs/chromium.ts';
import { freedom } from '../support/process/config.ts';
import { Control } from '../support/process/control.ts';
import { curl } from '../support/programs/curl.ts';
import { unboundConfig } from '../support/peers/dns-peers.ts';
import { inOwnNetwork } from '../support/netns/own-network.ts';
import { connectError, download, failureOf, upload } from '../support/netns/program.ts';
import { FAR, PORT, sentBy, Site, useNameServer, NEAR, hasProgram } from '../support/netns/site.ts';
import { TUN, tunConfig } from '../support/netns/tun-config.ts';
import { bodyOf } from '../support/data/pattern.ts';
import { findPeer, without } from '../support/programs/peers.ts';
import { roundTrip } from '../support/read.ts';
import { eventually, within } from '../support/wait.ts';
import type { Way } from '../support/ways/way.ts';
import { certificate, SERVER_NAME } from '../support/ways/certificate.ts';
import { weirIn, weirOut } from '../support/ways/weir-config.ts';
import { scratch, Weir } from '../support/process/weir.ts';

/** Bytes of the large transfer: `WEIR_TUN_BYTES=1073741824` for a gigabyte. */
const SIZE = Number(process.env['WEIR_TUN_BYTES'] ?? 64 << 20);

const out = (way: Way, port: number): string =>
  weirOut(way, { host: FAR.host, port }).replace('"127.0.0.1"', `"${FAR.host}"`);

const VLESS: Way = { protocol: 'vless', carrier: { network: 'tcp', tls: true } };
const HYSTERIA: Way = { protocol: 'hysteria2' };

/** How the traffic leaves: the outbounds, the first of which is the default. */
const WAYS: ReadonlyMap<string, string> = new Map([
  ['freedom', freedom()],
  ["microsocks' SOCKS5", out({ protocol: 'socks' }, 1080)],
  ['VLESS over TLS', out(VLESS, 1081)],
  ['Hysteria 2', out(HYSTERIA, 1082)],
]);

const noIperf = hasProgram('iperf3') ? false : 'not installed: iperf3';

interface IperfReport {
  readonly error?: string;
  readonly end: {
    readonly sum_received?: { readonly bytes: number; readonly bits_per_second: number };
    readonly sum?: { readonly bytes: number; readonly lost_percent?: number };
  };
}

/** Runs a program to its end, which must be a success. */
async function run(program: string, ...args: readonly string[]): Promise<string> {
  await using child = new Child(program, args);
  const exit = await within(
    child.exited,
    () => `the end of ${child.name}: ${child.stderr}`,
    60_000,
  );
  assert.equal(exit.code, 0, `${child.name}: ${child.stderr}${child.stdout.slice(-2000)}`);
  return child.stdout;
}

inOwnNetwork(import.meta.url, () => {
  describe('programs behind a TUN inbound', () => {
    let site: Site;
    let exit: Weir;
    let weir: Weir;
    let control: Control;
    const others = new AsyncDisposableStack();

    before(async () => {
      site = await Site.make();
      const listen = `listen = "${FAR.host}"`;
      exit = await site.startWeir(
        weirIn(VLESS, { port: 1081, more: listen }) +
          weirIn(HYSTERIA, { port: 1082, more: listen }) +
          freedom(),
      );
      if (findPeer('microsocks')) {
        others.use(site.start('microsocks', '-i', FAR.host, '-p', '1080'));
        await eventually('microsocks', async () => {
          return (await connectError(FAR.host, 1080)) === 'connected';
        });
      }
      weir = await Weir.start(tunConfig(freedom()));
      control = await Control.of(weir);
    });

    after(async () => {
      await weir[Symbol.asyncDispose]();
      await others[Symbol.asyncDispose]();
      await exit[Symbol.asyncDispose]();
      await site[Symbol.asyncDispose]();
    });

    /** Runs iperf3 with a server of its own: one that serves again closes its port in between. */
    async function iperf(
      wrap: readonly string[],
      ...args: readonly string[]
    ): Promise<IperfReport['end']> {
      await using server = site.start('iperf3', '-s', '-1', '-B', FAR.host, '--forceflush');
      await server.until(
        'iperf3 listens',
        ({ stdout }) => stdout.includes('listening') || undefined,
      );
      const [program = '', ...rest] = [...wrap, 'iperf3', '-J', '-c', FAR.host, ...args];
      const report = JSON.parse(await run(program, ...rest)) as IperfReport;
      assert.equal(report.error, undefined);
      return report.end;
    }

    for (const [way, outbounds] of WAYS) {
      const skip = way.startsWith('microsocks') ? without('microsocks') : false;
      describe(`by ${way}`, { skip }, () => {
        before(async () => {
          await control.apply(tunConfig(outbounds));
        });

        test(`bytes arrive whole both ways`, async () => {
          const size = way === 'freedom' ? SIZE : Math.min(SIZE, 16 << 20);
          // microsocks ends both directions with the first that ends.
          if (!way.startsWith('microsocks')) {
            assert.deepEqual(await upload(FAR.host, size), bodyOf(size));
          }
          assert.deepEqual(await download(FAR.host, size), bodyOf(size));
        });

        test('curl loads a page over IPv4 and IPv6', async () => {
          for (const host of [FAR.host, `[${FAR.host6}]`]) {
            const page = await curl([`http://${host}/`]);
            assert.equal(page.code, 0, page.stderr);
            assert.match(page.text, /A page/);
          }
        });

        test(
          'iperf3 measures TCP both ways, one stream and eight',
          { skip: noIperf },
          async (t) => {
            for (const args of [
              ['-n', '32M', '-P', '1'],
              ['-n', '32M', '-P', '8', '-R'],
            ]) {
              const { sum_received: received } = await iperf([], ...args);
              assert.ok((received?.bytes ?? 0) > 0);
              t.diagnostic(
                `${args.join(' ')}: ${((received?.bits_per_second ?? 0) * 1e-9).toFixed(2)} Gbit/s`,
              );
            }
          },
        );
      });
    }

    describe('by freedom again', () => {
      before(async () => {
        const dns = `[dns]\nbackend = "udp"\nserver = "${FAR.host}:${PORT.names}"\n`;
        await control.apply(dns + tunConfig(freedom()));
        useNameServer(TUN.resolver);
      });

      test('iperf3 measures UDP both ways', { skip: noIperf }, async (t) => {
        for (const args of [
          ['-u', '-t', '1', '-b', '50M'],
          ['-u', '-t', '1', '-b', '50M', '-R'],
        ]) {
          const { sum } = await iperf([], ...args);
          assert.ok((sum?.bytes ?? 0) > 0);
          t.diagnostic(`${args.join(' ')}: ${sum?.lost_percent} % lost`);
        }
      });

      test('wget loads a page by name', async () => {
        const page = await run('wget', '-q', '-O', '-', 'http://www.far.test/');
        assert.match(page, /A page/);
      });

      test('getent finds both families', async () => {
        const found = await run('getent', 'ahosts', 'www.far.test');
        for (const host of [FAR.host, FAR.host6]) assert.ok(found.includes(host), found);
      });

      test('Chromium loads a page by name', { skip: without('chromium') }, async () => {
        const page = await browse('http://www.far.test/', 'direct://');
        for (const part of ['by script', 'picture', 'frame']) assert.ok(page.includes(part), page);
        assert.ok((await control.connections()).flows.length > 0);
      });

      test('single bytes come back beside a transfer', async (t) => {
        using socket = disposable(await open({ host: FAR.host, port: PORT.echo }));
        socket.setNoDelay(true);
        const state = { isOver: false };
        const bulk = download(FAR.host, SIZE).finally(() => (state.isOver = true));
        const times: number[] = [];
        while (!state.isOver) {
          const start = performance.now();
          await roundTrip(socket, 'x');
          times.push(performance.now() - start);
        }
        assert.deepEqual(await bulk, bodyOf(SIZE));
        times.sort((a, b) => a - b);
        const at = (part: number): string =>
          (times[Math.floor(times.length * part)] ?? 0).toFixed(1);
        t.diagnostic(`${times.length} round trips: median ${at(0.5)} ms, 99 % ${at(0.99)} ms`);
      });

      test('a LAN behind the machine uses it as its gateway', async () => {
        site.addLan();
        await run('sysctl', '-qw', 'net.ipv4.ip_forward=1', 'net.ipv6.conf.all.forwarding=1');
        const lan = ['netns', 'exec', 'lan'];
        const before = sentBy(TUN.name).bytes;
        for (const host of [FAR.host, `[${FAR.host6}]`]) {
          assert.match(await run('ip', ...lan, 'curl', '-sS', `http://${host}/`), /A page/);
        }
        assert.ok(sentBy(TUN.name).bytes > before);
        if (noIperf === false) {
          const { sum } = await iperf(['ip', ...lan], '-u', '-t', '1', '-b', '10M', '-R');
          assert.ok((sum?.bytes ?? 0) > 0);
        }
        const sources = (await control.connections()).flows.map(({ source }) => source);
        if (noIperf === false) assert.ok(sources.includes('10.8.8.2'), String(sources));
      });
    });

    test(
      'unbound resolves for [dns] over UDP, TLS and HTTPS',
      { skip: without('unbound') },
      async () => {
        await using folder = await scratch();
        const { certFile, keyFile, caFile } = certificate();
        const file = join(folder.path, 'unbound.conf');
        await writeFile(
          file,
          unboundConfig(folder.path, [
            ...[5300, 853, 443].map((port) => `interface: ${FAR.host}@${port}`),
            'port: 5300',
            'tls-port: 853',
            'https-port: 443',
            `tls-service-key: "${keyFile}"`,
            `tls-service-pem: "${certFile}"`,
            'access-control: 0.0.0.0/0 allow',
            'local-zone: "." static',
            'local-data: "www.unbound.test. 1 IN A 203.0.113.7"',
          ]),
        );
        await using unbound = site.start('unbound', '-d', '-p', '-c', file);
        const trust = `server_name = "${SERVER_NAME}"\nca_file = "${caFile}"\n`;
        for (const dns of [
          `backend = "udp"\nserver = "${FAR.host}:5300"\n`,
          `backend = "tls"\nserver = "${FAR.host}:853"\n${trust}`,
          `backend = "https"\nserver = "${FAR.host}:443"\nurl = "https://${SERVER_NAME}/dns-query"\n${trust}`,
        ]) {
          await control.apply(`[dns]\n${dns}${tunConfig(freedom())}`);
          const [inside, outside] = [sentBy(TUN.name).packets, sentBy(NEAR.device).packets];
          await eventually('the name', async () => {
            await using getent = new Child('getent', ['ahostsv4', 'www.unbound.test']);
            await getent.exited;
            return getent.stdout.includes(FAR.host);
          });
          assert.ok(sentBy(NEAR.device).packets > outside, 'the query left by the uplink');
          assert.ok(sentBy(TUN.name).packets > inside, 'the program asked by the device');
        }
        assert.equal(unbound.ended, undefined);
      },
    );

    test('a stop resets what is still live when its grace is over', async () => {
      using socket = disposable(await open({ host: FAR.host, port: PORT.echo }));
      await roundTrip(socket, 'hello');
      const failure = failureOf(socket);
      const stopped = weir.stop();
      assert.equal(await failure, 'ECONNRESET');
      assert.deepEqual(await stopped, { code: 0, signal: null });
    });
  });
});
