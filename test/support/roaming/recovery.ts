import { setTimeout as sleep } from 'node:timers/promises';
import type { Address } from '../data/address.ts';
import { PORT } from '../netns/site.ts';
import { socksConnect } from '../peers/socks-client.ts';
import { UdpAssociation } from '../peers/socks-udp.ts';
import { roundTrip } from '../read.ts';
import { eventually } from '../wait.ts';

/** A program tries again this often, whatever has become of its earlier attempts. */
const AGAIN_MS = 250;

/** Milliseconds of an event, by what works again. */
export type Recoveries = ReadonlyMap<string, number>;

/** One flow, there and back. */
async function carries(socks: Address, host: string): Promise<void> {
  const socket = await socksConnect(socks, { host, port: PORT.echo });
  try {
    await roundTrip(socket, 'hello');
  } finally {
    socket.destroy();
  }
}

/** Milliseconds until a new flow was carried. */
export async function untilFlow(what: string, socks: Address, host: string): Promise<number> {
  const began = performance.now();
  let served: number | undefined;
  let last = '';
  let next = 0;
  return eventually(
    () => `a flow by ${what}: ${last}`,
    () => {
      if (served === undefined && performance.now() >= next) {
        next = performance.now() + AGAIN_MS;
        carries(socks, host).then(
          () => (served ??= performance.now() - began),
          (error: unknown) => (last = String(error)),
        );
      }
      return served;
    },
  );
}

/** A program that sends datagrams by one association, whatever happens to the network. */
export class RoamingDatagrams implements Disposable {
  readonly #what: string;
  readonly #socks: Address;
  readonly #host: string;
  #association: UdpAssociation | undefined;
  #sent = 0;
  /** How many associations it has had. */
  associations = 0;

  constructor(what: string, socks: Address, host: string) {
    this.#what = what;
    this.#socks = socks;
    this.#host = host;
  }

  /** Milliseconds until a datagram that is sent from now on has come back. */
  async untilEcho(): Promise<number> {
    const began = performance.now();
    const from = this.#sent;
    return eventually(`a datagram by ${this.#what}`, async () => {
      const association = await this.#open();
      if (!association) return undefined;
      association.send({ host: this.#host, port: PORT.echo }, `${++this.#sent}`);
      const received = await association.receive(AGAIN_MS).catch(() => undefined);
      return received && Number(String(received.data)) > from
        ? performance.now() - began
        : undefined;
    });
  }

  [Symbol.dispose](): void {
    this.#association?.[Symbol.dispose]();
  }

  /** The association, or another one when Weir has ended it. */
  async #open(): Promise<UdpAssociation | undefined> {
    const { control } = this.#association ?? {};
    if (this.#association && control?.readable === true) return this.#association;
    this.#association?.[Symbol.dispose]();
    this.#association = undefined;
    try {
      this.#association = await UdpAssociation.open(this.#socks);
      // The end of the association is seen by reading.
      this.#association.control.resume().on('error', () => undefined);
      this.associations++;
      return this.#association;
    } catch {
      await sleep(AGAIN_MS);
      return undefined;
    }
  }
}
