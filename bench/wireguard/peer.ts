import { spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Child } from '../../test/support/process/child.ts';
import { withoutWireGuard } from '../../test/support/netns/wireguard-peer.ts';
import { eventually } from '../../test/support/wait.ts';
import { scratch } from '../../test/support/process/weir.ts';
import { FAR_END, run, withoutNetworks, type Networks } from '../tun/networks.ts';

/** What a contestant has to know to open the tunnel. */
export interface TunnelEnd {
  readonly privateKey: string;
  readonly peerPublicKey: string;
  /** Where the peer listens. */
  readonly host: string;
  readonly port: number;
  /** Its own address in the tunnel. */
  readonly address: string;
  readonly mtu: number;
}

const ADDRESS = '10.88.0.2';
const PEER_ADDRESS = '10.88.0.1';
const PORT = 51_820;
const MTU = 1420;

/** Why this machine cannot measure a WireGuard tunnel; `false` when it can. */
export const withoutWireGuardPeer = (): string | false => withoutNetworks() || withoutWireGuard();

/** A `wireguard-go` on the far side, in front of the origin there. */
export class WireGuardFar implements AsyncDisposable {
  readonly networks: Networks;
  readonly end: TunnelEnd;
  readonly #parts: AsyncDisposableStack;

  private constructor(networks: Networks, end: TunnelEnd, parts: AsyncDisposableStack) {
    this.networks = networks;
    this.end = end;
    this.#parts = parts;
  }

  static async start(networks: Networks): Promise<WireGuardFar> {
    await using parts = new AsyncDisposableStack();
    const { path } = parts.use(await scratch());
    const [own, peer] = [wg(['genkey']), wg(['genkey'])];
    const keyFile = join(path, 'key');
    await writeFile(keyFile, peer, { mode: 0o600 });
    // Its control socket is outside of the namespaces, and named after the device.
    const device = `wgb${process.pid}`;
    const control = `/var/run/wireguard/${device}.sock`;
    parts.defer(() => rmSync(control, { force: true }));
    const { far } = networks;
    const program = parts.use(new Child('wireguard-go', ['-f', device], { prefix: far }));
    await eventually('the control socket of wireguard-go', () => {
      if (program.ended) throw new Error(`wireguard-go ended:\n${program.stderr}`);
      return existsSync(control);
    });
    const allowed = `peer ${wg(['pubkey'], own)} allowed-ips ${ADDRESS}/32`;
    run(far, `wg set ${device} listen-port ${PORT} private-key ${keyFile} ${allowed}`);
    run(far, `ip address add ${PEER_ADDRESS}/24 dev ${device}`);
    run(far, `ip link set ${device} up mtu ${MTU}`);
    const end: TunnelEnd = {
      privateKey: own,
      peerPublicKey: wg(['pubkey'], peer),
      host: FAR_END,
      port: PORT,
      address: ADDRESS,
      mtu: MTU,
    };
    return new WireGuardFar(networks, end, parts.move());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#parts.disposeAsync();
  }
}

/** What `wg` prints. */
function wg(args: readonly string[], input?: string): string {
  const { status, error, stdout, stderr } = spawnSync('wg', args, { encoding: 'utf8', input });
  if (status !== 0) throw new Error(`wg ${args.join(' ')}: ${error?.message ?? stderr.trim()}`);
  return stdout.trim();
}
