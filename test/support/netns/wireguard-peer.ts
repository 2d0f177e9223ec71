import { execFileSync } from 'node:child_process';
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isListening } from '../data/address.ts';
import { Child } from '../process/child.ts';
import { eventually } from '../wait.ts';
import { FAR, inside, ip } from './site.ts';

/** Why tests with wireguard-go cannot run here; `false` when they can. */
export function withoutWireGuard(): string | false {
  const missing = ['wireguard-go', 'wg'].filter((name) => !existsSync(`/usr/bin/${name}`));
  return missing.length === 0 ? false : `without ${missing.join(' and ')}`;
}

/** Addresses inside of a tunnel. */
const tunnelOf = (number: number) => ({
  own: `10.${88 + number}.0.2`,
  own6: `fd${88 + number}::2`,
  peer: `10.${88 + number}.0.1`,
  peer6: `fd${88 + number}::1`,
});

/** Inside of the tunnel to the first peer. */
export const TUNNEL = tunnelOf(0);

const wg = (args: readonly string[], input?: string): string =>
  execFileSync('wg', args, { encoding: 'utf8', input }).trim();

interface WireGuardPeerOptions {
  readonly presharedKey?: boolean;
  /** Of several at once: 0 for the first one. */
  readonly number?: number;
}

/** A `wireguard-go` at the far end of a `Site`, whose only peer is the Weir under test. */
export class WireGuardPeer implements AsyncDisposable {
  readonly port: number;
  readonly presharedKey: string | undefined;
  readonly #tunnel: ReturnType<typeof tunnelOf>;
  readonly #device: string;
  readonly #folder = mkdtempSync(join(tmpdir(), 'weir-test-wg-'));
  readonly #ownPrivate = wg(['genkey']);
  readonly #peerPrivate = wg(['genkey']);
  #program: Child | undefined;

  private constructor({ presharedKey = false, number = 0 }: WireGuardPeerOptions) {
    this.port = 51_820 + number;
    this.presharedKey = presharedKey ? wg(['genpsk']) : undefined;
    this.#tunnel = tunnelOf(number);
    this.#device = `wg${number}`;
  }

  static async start(options: WireGuardPeerOptions = {}): Promise<WireGuardPeer> {
    const peer = new WireGuardPeer(options);
    await peer.run();
    return peer;
  }

  get #control(): string {
    return `/run/wireguard/${this.#device}.sock`;
  }

  /** The key of the Weir under test. */
  get ownPublicKey(): string {
    return wg(['pubkey'], this.#ownPrivate);
  }

  /** The outbound of the Weir under test; `more` are lines of its settings. */
  outbound({
    endpoint = `${FAR.gateway}:${this.port}`,
    addresses = [this.#tunnel.own, this.#tunnel.own6] as readonly string[],
    peerPublicKey = wg(['pubkey'], this.#peerPrivate),
    more = '',
    above = '',
  } = {}): string {
    const psk = this.presharedKey === undefined ? '' : `preshared_key = "${this.presharedKey}"\n`;
    return (
      `[[outbound]]\ntag = "wg"\nprotocol = "wireguard"\n${above}\n[outbound.settings]\n` +
      `private_key = "${this.#ownPrivate}"\npeer_public_key = "${peerPublicKey}"\n${psk}` +
      `endpoint = "${endpoint}"\naddress = ${JSON.stringify(addresses)}\n${more}\n`
    );
  }

  /** Starts the program. */
  async run(): Promise<void> {
    const device = this.#device;
    const { own, own6, peer: address, peer6 } = this.#tunnel;
    this.#program = new Child('ip', ['netns', 'exec', 'far', 'wireguard-go', '-f', device]);
    // The file is there before it takes connections, and `wg` removes one that refuses it.
    await eventually('its control socket', () => isListening({ path: this.#control }));
    const [key, psk] = [join(this.#folder, 'key'), join(this.#folder, 'psk')];
    writeFileSync(key, this.#peerPrivate, { mode: 0o600 });
    writeFileSync(psk, this.presharedKey ?? '', { mode: 0o600 });
    const peer = ['peer', this.ownPublicKey];
    if (this.presharedKey !== undefined) peer.push('preshared-key', psk);
    peer.push('allowed-ips', `${own}/32,${own6}/128`);
    const port = String(this.port);
    inside('far', 'wg', 'set', device, 'listen-port', port, 'private-key', key, ...peer);
    ip(`-n far address add ${address}/24 dev ${device}`);
    ip(`-n far address add ${peer6}/64 dev ${device} nodad`);
    ip(`-n far link set ${device} up mtu 1420`);
    // For LAST_WORDS in one flight.
    ip(`-n far route replace ${own}/32 dev ${device} src ${FAR.host} initcwnd 20`);
    ip(`-n far route replace ${own6}/128 dev ${device} src ${FAR.host6} initcwnd 20`);
  }

  /** Ends the program as a crash does; the device goes with it. */
  async kill(): Promise<void> {
    await this.#program?.[Symbol.asyncDispose]();
    this.#program = undefined;
    rmSync(this.#control, { force: true });
  }

  /** What it says about Weir: `endpoint`, `latest-handshakes`, `transfer`. */
  show(what: string): string {
    return inside('far', 'wg', 'show', this.#device, what).trim().split('\t').slice(1).join(' ');
  }

  /** Sends something of its own, which begins a handshake where it needs one. */
  speak(): void {
    inside('far', 'bash', '-c', `echo > /dev/udp/${this.#tunnel.own}/9`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** A datagram that passes a relay; `undefined` drops it. */
export type Passing = (datagram: Buffer, fromWeir: boolean) => Buffer | undefined;

/** Stands between Weir and its peer, in the network of Weir. */
export class WireGuardPath implements AsyncDisposable {
  readonly inner: Socket;
  outer: Socket;
  /** Changes what passes. */
  passing: Passing = (datagram) => datagram;
  /** The peer's. */
  port = 51_820;
  #weir: RemoteInfo | undefined;

  private constructor(inner: Socket, outer: Socket) {
    this.inner = inner;
    this.outer = outer;
    inner.on('message', (datagram, from) => {
      this.#weir = from;
      const passed = this.passing(datagram, true);
      if (passed) this.outer.send(passed, this.port, FAR.gateway);
    });
    this.#receive();
  }

  static async make(): Promise<WireGuardPath> {
    return new WireGuardPath(await bound('127.0.0.1'), await bound('0.0.0.0'));
  }

  get endpoint(): string {
    return `127.0.0.1:${this.inner.address().port}`;
  }

  /** Sends a datagram to Weir as if it came from the peer. */
  inject(datagram: Uint8Array): void {
    if (this.#weir) this.inner.send(datagram, this.#weir.port, this.#weir.address);
  }

  /** Weir appears at another address from now on. */
  async move(): Promise<void> {
    const old = this.outer;
    this.outer = await bound('0.0.0.0');
    this.#receive();
    old.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of [this.inner, this.outer]) {
      socket.close();
      await once(socket, 'close');
    }
  }

  #receive(): void {
    this.outer.on('message', (datagram) => {
      const passed = this.passing(datagram, false);
      if (passed) this.inject(passed);
    });
  }
}

async function bound(host: string): Promise<Socket> {
  const socket = createSocket({ type: 'udp4', recvBufferSize: 4 << 20, sendBufferSize: 4 << 20 });
  socket.on('error', () => undefined);
  socket.bind(0, host);
  await once(socket, 'listening');
  return socket;
}
