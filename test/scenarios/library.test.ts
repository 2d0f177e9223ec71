import assert from 'node:assert/strict';
import {
  appendFile,
  copyFile,
  mkdir,
  readFile,
  readdir,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { buildEngine } from '../../packaging/dist.ts';
import { engineManifest } from '../../packaging/manifest.ts';
import { parseAddress } from '../support/data/address.ts';
import { Child } from '../support/process/child.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { roundTrip } from '../support/read.ts';
import { echoServer } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { within } from '../support/wait.ts';
import { scratch } from '../support/process/weir.ts';
import { shared } from '../support/shared.ts';

/*
 * The package for hosts as it is published: built, put where npm would put it, and used by its name.
 */

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** The compilers that hosts have: that of this repository, and the last one in JavaScript. */
const COMPILERS = ['node_modules/typescript', 'tools/library/node_modules/typescript'];

let folder: Awaited<ReturnType<typeof scratch>>;
const at = (path: string): string => join(folder.path, path);

shared(async (use) => {
  folder = use(await scratch());
  await installBuilt();
  await copyFile(join(ROOT, 'examples/embed.ts'), at('embed.ts'));
  await writeFile(at('package.json'), '{ "type": "module", "private": true }');
});

/** What `npm install weir-engine` leaves, and the types of Node. */
async function installBuilt(): Promise<void> {
  const home = at('node_modules/weir-engine');
  await buildEngine(join(home, 'dist'));
  await writeFile(join(home, 'package.json'), JSON.stringify(engineManifest()));
  const natives = await readdir(join(ROOT, 'node_modules/@koromix'));
  const types = ['@types/node', 'undici-types'];
  for (const name of [...natives.map((native) => `@koromix/${native}`), ...types]) {
    await mkdir(dirname(at(`node_modules/${name}`)), { recursive: true });
    await symlink(join(ROOT, 'node_modules', name), at(`node_modules/${name}`));
  }
}

/** Runs a program that must succeed. */
async function run(command: string, args: readonly string[], cwd?: string): Promise<Child> {
  await using child = new Child(command, args, cwd === undefined ? {} : { cwd });
  const { code } = await within(child.exited, `the end of ${child.name}`, 60_000);
  assert.equal(code, 0, child.stdout + child.stderr);
  return child;
}

/** Programs of a host that compile, with what has to be an error in them. */
const PROGRAM = `import { Weir, type Config, type FlowView } from 'weir-engine';
export const config: Config = {
  inbound: [
    { tag: 'in', protocol: 'socks', port: 0, settings: { auth: 'password', accounts: [{ user: 'a', pass: 'b' }] } },
    { tag: 'hy', protocol: 'hy2', port: 443, settings: { password: 'x', cert_file: 'a.pem', key_file: 'b.pem' } },
  ],
  outbound: [
    { tag: 'out', protocol: 'trojan', server: 'a.example', port: 443, settings: { password: 'x' }, stream: { network: 'tls' } },
  ],
  route: { rule: [{ outbound: 'out', network: 'udp', port: ['53'] }] },
};
// @ts-expect-error there is no such table
export const table: Config = { inbounds: [] };
// @ts-expect-error there is no such protocol
export const protocol: Config = { inbound: [{ tag: 'in', protocol: 'sock' }] };
// @ts-expect-error a tag is required
export const tag: Config = { inbound: [{ protocol: 'socks' }] };
// @ts-expect-error the setting is one of another protocol
export const setting: Config = { inbound: [{ tag: 'in', protocol: 'socks', settings: { method: 'x' } }] };
// @ts-expect-error one of two words
export const word: Config = { inbound: [{ tag: 'in', protocol: 'socks', settings: { auth: 'maybe' } }] };
// @ts-expect-error the settings have a password
export const missing: Config = { outbound: [{ tag: 'out', protocol: 'trojan', settings: {} }] };
// @ts-expect-error the settings are required
export const none: Config = { outbound: [{ tag: 'out', protocol: 'vless' }] };

export async function use(): Promise<FlowView | undefined> {
  await using weir = await Weir.start({ config: { text: '', directory: '.' } });
  await Weir.start({ config });
  await weir.reload({ config: 'weir.toml' });
  const [listener] = weir.listeners();
  const port: number | null | undefined = listener?.port;
  for await (const listeners of weir.listenerEvents()) console.log(port, listeners.length);
  await weir.pick('default', 'out', { persist: false });
  // @ts-expect-error a configuration is required
  await Weir.start({});
  // @ts-expect-error there is no such table
  await Weir.start({ config: { inbounds: [] } });
  // @ts-expect-error an id is a number
  weir.closeFlow('1');
  // @ts-expect-error flows have no such field
  return weir.connections().flows[0]?.outboundVersion;
}
`;

/** Writes the programs of the guide. */
async function writeDocumented(): Promise<void> {
  const page = await readFile(join(ROOT, 'docs/library.md'), 'utf8');
  const blocks = Array.from(page.matchAll(/^```ts\n(.*?)^```$/gms), ([, block = '']) => block);
  assert.ok(blocks.length >= 7);
  for (const [index, block] of blocks.entries()) {
    await writeFile(at(`documented-${index}.ts`), block);
  }
}

for (const compiler of COMPILERS)
  test(`a host is type-checked by the compiler in ${compiler}`, async () => {
    const options = {
      compilerOptions: {
        target: 'esnext',
        module: 'nodenext',
        strict: true,
        exactOptionalPropertyTypes: true,
        noEmit: true,
        skipLibCheck: false,
        lib: ['esnext'],
        types: ['node'],
      },
      include: ['embed.ts', 'program.ts', 'commonjs.cts', 'documented-*.ts'],
    };
    await writeFile(at('tsconfig.json'), JSON.stringify(options));
    await writeFile(at('program.ts'), PROGRAM);
    await writeFile(
      at('commonjs.cts'),
      "import { Weir } from 'weir-engine';\nexport const { start } = Weir;\n",
    );
    await writeDocumented();
    const tsc = join(ROOT, compiler, 'bin/tsc');
    await run(process.execPath, [tsc, '--project', at('tsconfig.json')], folder.path);
  });

test('errors have the names of their classes in the built package', async () => {
  await writeFile(
    at('names.js'),
    `import * as weir from 'weir-engine';
const errors = Object.entries(weir).filter(([, value]) => value.prototype instanceof Error);
const made = errors.map(([name, Class]) => [name, new Class('invalid', 'x').name]);
const thrown = await weir.Weir.start({ config: { text: 'x' } }).catch((error) => error);
console.log(JSON.stringify({ made, thrown: [thrown.name, thrown.cause.name] }));
`,
  );
  const { stdout } = await run(process.execPath, ['names.js'], folder.path);
  const { made, thrown } = JSON.parse(stdout) as Record<string, readonly string[]>;
  assert.ok((made?.length ?? 0) >= 3);
  for (const [exported, name] of made ?? []) assert.equal(name, exported);
  assert.deepEqual(thrown, ['ControlError', 'ConfigError']);
});

test('the example runs a proxy, returns from its calls and ends by itself', async () => {
  const config = `${socksIn()}${freedom('direct')}${freedom('other')}[api]\nlisten = "nonsense"\n`;
  await writeFile(at('weir.toml'), config);
  await using origin = await echoServer();
  await using host = new Child(process.execPath, ['embed.ts', 'weir.toml'], { cwd: folder.path });
  const prints = (text: string | RegExp): Promise<RegExpExecArray> =>
    host.until(String(text), ({ stdout, stderr }) => {
      const found = new RegExp(text, 'm').exec(stdout) ?? new RegExp(text, 'm').exec(stderr);
      return found ?? undefined;
    });
  const send = (line: string): void => void host.stdin.write(`${line}\n`);

  await prints('^weir 2\\.1\\.1 is running$');
  await prints('^info: \\[api\\] is not served here: ');
  const [, address = ''] = await prints('^info: inbound socks listening on (\\S+)$');

  const socket = await socksConnect(parseAddress(address), origin.target);
  await roundTrip(socket, 'hello');
  const [, id = ''] = await prints(`^opened (\\d+) 127\\.0\\.0\\.1:${origin.port}$`);
  send('flows');
  await prints('^1 flows$');
  send(`close ${id}`);
  await prints('^closed it$');
  await prints(`^closed ${id} `);
  send(`close ${id}`);
  await prints('^no such flow$');

  send('routes');
  await prints('^default goes to direct$');
  send('pick default other');
  await prints('^pick: applied$');
  assert.equal(await readFile(at('weir.toml'), 'utf8'), `${config}\n[route]\ndefault = "other"\n`);
  send('routes');
  await prints('^default goes to other$');
  send('reload');
  await prints('^reload: unchanged$');
  // More than is read at once: a thread of the built package does it.
  await appendFile(at('weir.toml'), `#${'-'.repeat(400_000)}\n`);
  send('reload');
  await prints('^reload: applied$');
  send('pick default nowhere');
  await prints(
    '^invalid: no node, outbound or balancer is named "nowhere"; the route view lists them$',
  );
  send('pick absent other');
  await prints('^unknown_group: no route group named "absent"$');

  send('stop');
  assert.deepEqual(await within(host.exited, 'the end of the host'), { code: 0, signal: null });
  assert.match(host.stdout, /^stopped$/m);
  socket.destroy();
});
