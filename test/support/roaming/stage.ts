import { execFileSync, spawnSync } from 'node:child_process';
import { Control, API } from '../process/control.ts';
import { freedom, rule, socksIn } from '../process/config.ts';
import { Weir } from '../process/weir.ts';
import { FAR, ip, PORT, Site } from '../netns/site.ts';
import { WireGuardPeer, withoutWireGuard } from '../netns/wireguard-peer.ts';
import { weirIn } from '../ways/weir-config.ts';
import { ROAMING_OUTBOUNDS, type RoamingOutbound } from './outbounds.ts';
import { RoamingDatagrams, untilFlow, type Recoveries } from './recovery.ts';

const EXIT = `${ROAMING_OUTBOUNDS.map(({ exit }) =>
  exit
    ? weirIn(exit.way, { tag: `in-${exit.port}`, port: exit.port, more: `listen = "${FAR.host}"` })
    : '',
).join('')}${freedom()}`;

const inbound = (tag: string): string => `in-${tag}`;

/** A Weir with every outbound, whose network changes, and the servers of its outbounds at the far end. */
export class RoamingStage implements AsyncDisposable {
  readonly site: Site;
  readonly outbounds: readonly RoamingOutbound[];
  readonly #peer: WireGuardPeer | undefined;
  #exit: Weir;
  #weir: Weir | undefined;
  readonly #datagrams = new Map<string, RoamingDatagrams>();

  private constructor(site: Site, exit: Weir, peer: WireGuardPeer | undefined) {
    this.site = site;
    this.#exit = exit;
    this.#peer = peer;
    const wireguard: RoamingOutbound[] = peer
      ? [
          {
            tag: 'wg',
            host: FAR.host,
            datagrams: true,
            config: peer.outbound({ endpoint: `${FAR.host}:${peer.port}` }),
          },
        ]
      : [];
    this.outbounds = [...ROAMING_OUTBOUNDS, ...wireguard];
  }

  static async make(): Promise<RoamingStage> {
    const site = await Site.make();
    const peer = withoutWireGuard() === false ? await WireGuardPeer.start() : undefined;
    return new RoamingStage(site, await site.startWeir(EXIT), peer);
  }

  get weir(): Weir {
    if (!this.#weir) throw new Error('no Weir has been started');
    return this.#weir;
  }

  /** Starts the Weir that roams, with a group whose members are probed every 5 s. */
  async startWeir(): Promise<Control> {
    await this.#weir?.[Symbol.asyncDispose]();
    for (const each of this.#datagrams.values()) each[Symbol.dispose]();
    this.#datagrams.clear();
    const config = [
      API,
      `[dns]\nbackend = "udp"\nserver = "${FAR.host}:${PORT.names}"\n`,
      ...this.outbounds.map(({ tag }) => socksIn(inbound(tag))),
      ...this.outbounds.map(({ tag }) => rule(tag, `inbound_tag = ["${inbound(tag)}"]`)),
      ...this.outbounds.map(({ config: lines }) => lines),
    ];
    this.#weir = await Weir.start(config.join('\n'));
    for (const { tag, host, datagrams } of this.outbounds) {
      const socks = this.#weir.address(inbound(tag));
      if (datagrams) this.#datagrams.set(tag, new RoamingDatagrams(tag, socks, host));
    }
    return Control.of(this.#weir);
  }

  socks(tag: string): ReturnType<Weir['address']> {
    return this.weir.address(inbound(tag));
  }

  /** Milliseconds until a new flow, and a datagram of the association that is open, came back, by outbound. */
  async recoveries(): Promise<Recoveries> {
    const found = new Map<string, number>();
    const failures: string[] = [];
    const record = async (what: string, recovery: Promise<number>): Promise<void> => {
      try {
        found.set(what, await recovery);
      } catch (error) {
        failures.push(error instanceof Error ? error.message : String(error));
      }
    };
    await Promise.all([
      ...this.outbounds.map(({ tag, host }) => record(tag, untilFlow(tag, this.socks(tag), host))),
      ...Array.from(this.#datagrams, ([tag, datagrams]) =>
        record(`${tag} datagrams`, datagrams.untilEcho()),
      ),
    ]);
    if (failures.length > 0) throw new Error(failures.join('\n'));
    return found;
  }

  /** The servers of the outbounds crash, and start again with nothing that they knew. */
  async restartServers(): Promise<void> {
    await this.#exit[Symbol.asyncDispose]();
    await this.#peer?.kill();
    this.#exit = await this.site.startWeir(EXIT);
    await this.#peer?.run();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const each of this.#datagrams.values()) each[Symbol.dispose]();
    await this.#weir?.[Symbol.asyncDispose]();
    await this.#peer?.[Symbol.asyncDispose]();
    await this.#exit[Symbol.asyncDispose]();
    await this.site[Symbol.asyncDispose]();
  }
}

/** The uplink goes: its addresses and routes as well. */
export function loseUplink(): void {
  ip('link set uplink down');
  execFileSync('ip', ['address', 'flush', 'dev', 'uplink']);
}

/** The uplink comes, with the address `10.9.9.LAST`. */
export function gainUplink(last: number): void {
  ip(`address add 10.9.9.${last}/24 dev uplink`);
  ip('link set uplink up');
  ip(`address add fd09::${last}/64 dev uplink nodad`);
  ip('route add default via 10.9.9.2');
  ip('route add default via fd09::2');
}

/** From now on everything goes by the other uplink; what is sent to the addresses of the first is lost. */
export function changeDefaultRoute(site: Site, last: number): void {
  site.addUplink();
  ip('address add fd07::1/64 dev uplink2 nodad');
  ip('-n far address add fd07::2/64 dev downlink2 nodad');
  ip(`-n far route add blackhole 10.9.9.${last}/32`);
  ip(`-n far route add blackhole fd09::${last}/128`);
  ip('route replace default via 10.7.7.2');
  ip('route replace default via fd07::2');
}

/** The first uplink has the default routes again. */
export function restoreDefaultRoute(last: number): void {
  spawnSync('ip', ['link', 'delete', 'uplink2']);
  ip(`-n far route delete blackhole 10.9.9.${last}/32`);
  ip(`-n far route delete blackhole fd09::${last}/128`);
  ip('route replace default via 10.9.9.2');
  ip('route replace default via fd09::2');
}
