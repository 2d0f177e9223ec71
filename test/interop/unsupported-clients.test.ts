import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'node:test';
import { portOf, type Address } from '../support/data/address.ts';
import { freedom } from '../support/process/config.ts';
import { freePort } from '../support/ports.ts';
import { startPeer, startXray, without, type Peer } from '../support/programs/peers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { Weir } from '../support/process/weir.ts';
import { certificate } from '../support/ways/certificate.ts';

/** What real clients ask for that Weir does not support is one line of the info log, which says what to do. */

const ID = 'b831381d-6324-4d53-ad4f-8cda48b30811';
const TARGET = { host: '127.0.0.1', port: 9 };
const inbound = (protocol: string, settings: string): string =>
  `[[inbound]]\ntag = "in"\nprotocol = "${protocol}"\nport = 0\nsettings = { ${settings} }\n`;
const VLESS = inbound('vless', `users = [{ id = "${ID}" }]`);
const TROJAN = inbound('trojan', 'users = [{ password = "secret" }]');

const vmessOverTls = (): string => {
  const { certFile, keyFile } = certificate();
  const stream = `{ network = "tls", tls = { cert_file = "${certFile}", key_file = "${keyFile}" } }`;
  return `${inbound('vmess', `users = [{ id = "${ID}" }]`)}stream = ${stream}\n`;
};

const startSingBox = (outbound: object, server: Address): Promise<Peer> =>
  startPeer('sing-box', 1, async ([port], folder) => {
    const file = join(folder, 'config.json');
    const config = {
      log: { level: 'warn' },
      inbounds: [{ type: 'socks', listen: '127.0.0.1', listen_port: port }],
      outbounds: [{ ...outbound, server: '127.0.0.1', server_port: portOf(server) }],
    };
    await writeFile(file, JSON.stringify(config));
    return ['run', '-c', file];
  });

const startXrayClient = (outbound: (port: number) => object, server: Address): Promise<Peer> =>
  startXray([{ protocol: 'socks' }], [outbound(portOf(server))]);

/** Uses a client once; what comes of that for the client does not matter. */
const use = (client: Peer): Promise<void> =>
  socksConnect(client.address, TARGET).then(
    (socket) => {
      socket.on('error', () => undefined).write('GET / HTTP/1.0\r\n\r\n');
    },
    () => undefined,
  );

const multiplex = (protocol: string) => ({ multiplex: { enabled: true, protocol } });
const vless = { type: 'vless', uuid: ID };

const CASES: readonly (readonly [
  what: string,
  peer: 'sing-box' | 'xray',
  config: string,
  start: (server: Address) => Promise<Peer>,
  line: RegExp,
])[] = [
  ...['smux', 'yamux', 'h2mux'].map(
    (name) =>
      [
        `${name} of sing-box`,
        'sing-box',
        VLESS,
        (server: Address) => startSingBox({ ...vless, ...multiplex(name) }, server),
        /in -> tcp sp\.mux\.sing-box\.arpa:444 by direct: .*; the client multiplexes .*switch "multiplex".* off in the client \(default route\)$/m,
      ] as const,
  ),
  [
    'VMess of sing-box over TLS with the cipher "auto"',
    'sing-box',
    vmessOverTls(),
    (server) =>
      startSingBox(
        { type: 'vmess', uuid: ID, security: 'auto', tls: { enabled: true, insecure: true } },
        server,
      ),
    /VMess security none \(or zero\) is not supported; set aes-128-gcm or chacha20-poly1305 in the client/m,
  ],
  [
    'Mux.Cool of Xray by Trojan',
    'xray',
    TROJAN,
    (server) =>
      startXrayClient(
        (port) => ({
          protocol: 'trojan',
          settings: { servers: [{ address: '127.0.0.1', port, password: 'secret' }] },
          mux: { enabled: true, concurrency: 8 },
        }),
        server,
      ),
    /in -> tcp v1\.mux\.cool:9527 by direct: .*; the client multiplexes \(Mux\.Cool\), .*switch "mux" off in the client/,
  ],
];

for (const [what, peer, config, start, line] of CASES) {
  test(`${what} leaves a line that says what to change`, { skip: without(peer) }, async () => {
    const resolver = `[dns]\nbackend = "udp"\nserver = "127.0.0.1:${await freePort()}"\n`;
    await using weir = await Weir.start(config + freedom() + resolver);
    await using client = await start(weir.address('in'));
    void use(client);
    await weir.child.until('the line', ({ stderr }) => (line.test(stderr) ? true : undefined));
    const lines = weir.child.stderr.split('\n').filter((each) => line.test(each));
    assert.equal(lines.length, 1, weir.child.stderr);
  });
}
