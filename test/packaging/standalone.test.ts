import assert from 'node:assert/strict';
import { copyFile, mkdir, readFile, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { OWN } from '../../packaging/manifest.ts';
import { ROOT } from '../../packaging/root.ts';
import { packStandalone, STANDALONE, standaloneTarball } from '../../packaging/standalone.ts';
import { hasTool, runTool } from '../../packaging/tool.ts';
import { deadLinksBelow } from '../support/docs/pages.ts';
import { scratch } from '../support/process/weir.ts';
import { npmCli } from './old-node.ts';
import { shared } from '../support/shared.ts';

/*
 * The packages that stand alone, as a user of each installs it: into an empty folder, with an empty cache and without a
 * network. What is optional, koffi, is linked from the checkout where an example needs it.
 */

/** A package as its user sees it. */
interface Alone {
  readonly example: string;
  /** What the example prints. */
  readonly prints: RegExp;
  /** A module that uses the public API, which is compiled. */
  readonly uses: string;
  /** Whether koffi, which calls functions of the system, is of no use to it, or is needed by its example. */
  readonly koffi: 'no use' | 'optional' | 'needed';
  /** Returns the reason why the example cannot run here. */
  readonly obstacle?: () => Promise<string | undefined>;
}

const PACKAGES: Readonly<Record<(typeof STANDALONE)[number], Alone>> = {
  congestion: {
    example: 'simulated-path',
    koffi: 'no use',
    prints:
      /^cubic: 10 Mbit\/s, 40 ms\n[^]* 6000 ms .* packets\n9\.\d Mbit\/s, \d+ of \d+ packets lost\n$/,
    uses: `
      import { Cubic, SendControl, type AckEvent, type CongestionController } from '@weir/congestion';
      class Fixed extends Cubic {
        override onAck(event: AckEvent): void {
          const acked: number = event.acked;
          if (acked > 0) super.onAck(event);
        }
      }
      const controller: CongestionController = new Fixed(1200);
      export const allowance: number = new SendControl(controller, 1200).allowance(0);`,
  },
  quic: {
    example: 'echo',
    prints: /^connected to 127\.0\.0\.1:\d+ over (kernel|node) sockets\nechoed: hello over QUIC\n$/,
    koffi: 'needed',
    uses: `
      import { DEFAULT_SETTINGS, QuicEndpoint, type ClientTls, type ConnectionSettings,
        type QuicConnection } from '@weir/quic';
      import { systemClock, SystemRandomSource, systemSockets, toEndpoint } from '@weir/quic/system';
      const settings: ConnectionSettings = { ...DEFAULT_SETTINGS, keepAlive: 5000 };
      export async function dial(tls: ClientTls): Promise<QuicConnection> {
        const address = toEndpoint('127.0.0.1', 0)!;
        const endpoint = await QuicEndpoint.bind(
          (options, handlers) => systemSockets().bindDatagrams(options, handlers),
          address,
          { clock: systemClock, random: new SystemRandomSource() },
        );
        const handlers = { onStream: () => undefined, onDatagram: () => undefined };
        return endpoint.dial(address, { tls, connection: settings, handlers });
      }`,
  },
  netstack: {
    example: 'tun-echo',
    prints:
      /^10\.99\.0\.1 connects to 10\.99\.0\.2\nconnected over example0\nechoed: hello over TCP\n$/,
    koffi: 'needed',
    obstacle: tunObstacle,
    uses: `
      import { Netstack, type ConnectionRequest, type StackSettings } from '@weir/netstack';
      import { systemClock, SystemRandomSource, systemSockets } from '@weir/netstack/system';
      const settings: StackSettings = { maxFlows: 10, udp: true, udpIdle: 1000 };
      export const open = (onConnection: (request: ConnectionRequest) => void): Netstack =>
        new Netstack({
          device: systemSockets().openTun({ name: undefined, mtu: 1500, addresses: [], routes: [] }),
          clock: systemClock,
          random: new SystemRandomSource(),
          addresses: 'any',
          handlers: { onConnection, onAssociation: ({ link }) => link.close() },
          isPaced: true,
          settings,
        });`,
  },
  http: {
    example: 'http2-over-tls',
    koffi: 'optional',
    prints: /^connected: TLSv1\.3, h2\n200: you asked for \/first\n200: you asked for \/second\n$/,
    uses: `
      import { valueOf, type HttpField } from '@weir/http/fields';
      import { parseRequestHead } from '@weir/http/http1';
      import { Http2Connection, type StreamHandler } from '@weir/http/http2';
      import { Http3Client } from '@weir/http/http3';
      import { SocketLink } from '@weir/http/system';
      export type Used = [typeof parseRequestHead, typeof Http3Client, typeof SocketLink];
      export const pathOf = (fields: readonly HttpField[]): string | undefined =>
        valueOf(fields, ':path');
      export const state = (connection: Http2Connection): string => connection.state;
      export const onReadable = (handler: StreamHandler): void => handler.onReadable();`,
  },
};

async function tunObstacle(): Promise<string | undefined> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'it needs Linux and root';
  if (!(await hasTool('unshare'))) return 'there is no unshare';
  return runTool('unshare', ['--net', 'test', '-c', '/dev/net/tun']).then(
    () => undefined,
    () => 'there are no namespaces, or no TUN devices',
  );
}

const TYPESCRIPT = {
  compilerOptions: {
    target: 'esnext',
    module: 'nodenext',
    strict: true,
    noEmit: true,
    types: ['node'],
  },
};

const skip = npmCli() === undefined ? 'there is no npm in the PATH' : false;

describe('a package that stands alone', { skip }, () => {
  let folder: Awaited<ReturnType<typeof scratch>>;
  const at = (...path: readonly string[]): string => join(folder.path, ...path);

  shared(async (use) => {
    folder = use(await scratch());
    await packStandalone(at('tarballs'));
  });

  for (const name of STANDALONE) {
    const { example, prints, koffi, obstacle } = PACKAGES[name];

    test(name, async (t) => {
      const home = at(name);
      const installed = join(home, 'node_modules/@weir', name);
      const run = (): Promise<string> =>
        runTool(process.execPath, [`${example}.js`], { cwd: home });

      await t.test('is installed by its tarball alone', async () => {
        await mkdir(home, { recursive: true });
        const options = [
          `--prefix=${home}`,
          `--cache=${at('cache', name)}`,
          '--offline',
          '--no-audit',
          '--no-fund',
        ];
        const path = at('tarballs', standaloneTarball(name));
        await runTool(process.execPath, [npmCli() ?? '', 'install', ...options, path]);
        assert.deepEqual(await readdir(join(home, 'node_modules/@weir')), [name]);
        const text = await readFile(join(installed, 'package.json'), 'utf8');
        const manifest = JSON.parse(text) as Record<string, unknown>;
        assert.equal(manifest['version'], OWN.version);
        assert.equal(manifest['license'], OWN.license);
        assert.equal(manifest['dependencies'], undefined);
        const optional = koffi === 'no use' ? [] : ['koffi'];
        assert.deepEqual(Object.keys(manifest['optionalDependencies'] ?? {}), optional);
        assert.doesNotMatch(text, /workspace:|file:/);
        await readFile(join(installed, 'LICENSE'));
        assert.deepEqual(deadLinksBelow(installed), []);
      });

      if (koffi === 'needed') {
        await t.test('can be imported without koffi', async () => {
          const code = `await import('@weir/${name}'); await import('@weir/${name}/system');`;
          await runTool(process.execPath, ['--input-type=module', '-e', code], { cwd: home });
        });
        await symlink(join(ROOT, 'node_modules/koffi'), join(home, 'node_modules/koffi'));
      }

      const skipped = (await obstacle?.()) ?? false;
      await t.test('has an example that runs', { skip: skipped }, async () => {
        await copyFile(join(installed, `examples/${example}.js`), join(home, `${example}.js`));
        assert.match(await run(), prints);
      });
    });
  }

  test('has declarations of all that it exports', async () => {
    await mkdir(at('node_modules/@types'), { recursive: true });
    for (const types of ['@types/node', 'undici-types']) {
      await symlink(join(ROOT, 'node_modules', types), at('node_modules', types));
    }
    for (const name of STANDALONE) await writeFile(at(name, 'uses.mts'), PACKAGES[name].uses);
    const files = STANDALONE.map((name) => `${name}/uses.mts`);
    await writeFile(at('tsconfig.json'), JSON.stringify({ ...TYPESCRIPT, files }));
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    await runTool(process.execPath, [tsc, '-p', folder.path]);
  });
});
