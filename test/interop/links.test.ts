import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { webServer } from '../support/peers/servers.ts';
import { freePort, freePorts } from '../support/ports.ts';
import { Child } from '../support/process/child.ts';
import { freedom } from '../support/process/config.ts';
import { scratch, Weir, weirCommand } from '../support/process/weir.ts';
import { curl } from '../support/programs/curl.ts';
import { findPeer, without } from '../support/programs/peers.ts';
import { eventually } from '../support/wait.ts';

/* Other people's clients with what weir links serves them: as their profile, and where they fetch it by themselves. */

const ID = 'b831381d-6324-4d53-ad4f-8cda48b30811';

interface Linked extends AsyncDisposable {
  readonly link: string;
}

/** A server with two inbounds, and the link of its user. */
async function linkedServer(): Promise<Linked> {
  const [vless, socks] = await freePorts(2);
  const weir = await Weir.start(
    `[[inbound]]\ntag = "vless"\nprotocol = "vless"\nport = ${vless}\nsettings = { users = [\n  { id = "${ID}" }, # name: ann\n] }\n` +
      `[[inbound]]\ntag = "socks"\nprotocol = "socks"\nport = ${socks}\nsettings = { auth = "password", accounts = [{ user = "ann", pass = "secret" }] }\n` +
      freedom(),
  );
  const config = ['--config', join(weir.folder, 'weir.toml')];
  const links = weirCommand([
    'links',
    'serve',
    ...config,
    '--host',
    '127.0.0.1',
    '--listen',
    '127.0.0.1:0',
  ]);
  await links.until('its address', ({ stdout }) => /, below /.test(stdout) || undefined);
  await using shown = weirCommand(['links', 'show', 'ann', ...config]);
  await shown.exited;
  return {
    link: shown.stdout.trim(),
    async [Symbol.asyncDispose]() {
      await links[Symbol.asyncDispose]();
      await weir[Symbol.asyncDispose]();
    },
  };
}

const profileFor = async (link: string, agent: string): Promise<string> =>
  (await fetch(link, { headers: { 'user-agent': agent } })).text();

/** Fetches a page through a client that listens on a port, also before it has its servers. */
async function fetchThrough(port: number): Promise<void> {
  await using origin = await webServer();
  const url = `http://${origin.host}:${origin.port}/bytes/1000`;
  const bytes = await eventually('a page through the client', async () => {
    const { code, body } = await curl(['--proxy', `socks5h://127.0.0.1:${port}`, url]);
    return code === 0 ? body.bytes : undefined;
  });
  assert.equal(bytes, 1000);
}

describe('sing-box, by its profile', { skip: without('sing-box') }, () => {
  test('accepts it as it is, and reaches a page', async () => {
    await using server = await linkedServer();
    await using folder = await scratch();
    const text = await profileFor(server.link, 'SFA/1.12.0 (1; sing-box 1.12.0)');
    const whole = join(folder.path, 'profile.json');
    writeFileSync(whole, text);
    const program = findPeer('sing-box') ?? '';
    execFileSync(program, ['check', '-c', whole], { stdio: 'pipe' });
    const profile = JSON.parse(text) as {
      readonly route: { readonly rules: readonly object[] };
    };
    const port = await freePort();
    // Without a device, and with flows to this machine through the server.
    const local = {
      ...profile,
      inbounds: [{ type: 'mixed', tag: 'mixed', listen: '127.0.0.1', listen_port: port }],
      route: {
        ...profile.route,
        auto_detect_interface: false,
        rules: profile.route.rules.filter((rule) => !('ip_is_private' in rule)),
      },
    };
    const file = join(folder.path, 'local.json');
    writeFileSync(file, JSON.stringify(local));
    await using _client = new Child(program, ['run', '-c', file]);
    await fetchThrough(port);
  });
});

describe('mihomo', { skip: without('mihomo') }, () => {
  const program = findPeer('mihomo') ?? '';

  /** A folder with a configuration. */
  function folderWith(path: string, text: string): string {
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, 'config.yaml'), text);
    return path;
  }

  test('by its profile, which it accepts as it is, reaches a page', async () => {
    await using server = await linkedServer();
    await using folder = await scratch();
    const text = await profileFor(server.link, 'clash-verge/v2.4.2');
    const whole = folderWith(join(folder.path, 'whole'), text);
    execFileSync(program, ['-t', '-d', whole], { stdio: 'pipe' });
    const port = await freePort();
    const local = text
      .replace('mixed-port: 7890', `mixed-port: ${port}`)
      .replace(/^.*IP-CIDR,127\..*\n/m, '');
    await using _client = new Child(program, ['-d', folderWith(join(folder.path, 'local'), local)]);
    await fetchThrough(port);
  });

  test('fetches the link as a provider by itself', async () => {
    await using server = await linkedServer();
    await using folder = await scratch();
    const port = await freePort();
    const text = `mixed-port: ${port}
mode: rule
proxy-providers:
  home: {type: http, url: "${server.link}", interval: 3600, path: ./home.yaml, health-check: {enable: false}}
proxy-groups:
  - {name: chosen, type: select, use: [home]}
rules: ["MATCH,chosen"]
`;
    await using _client = new Child(program, ['-d', folderWith(folder.path, text)]);
    await fetchThrough(port);
  });
});
